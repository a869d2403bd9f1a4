//! A network in a file of another simulator, which becomes a graph when the scenario is read.

use incast_plan::topology::Topology;
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::graph::{Graph, GraphLink, NodeGroup};
use super::parts::Named;
use super::{Network, NetworkKind};
use crate::foreign;
use crate::input::{Files, InputError};

/// A network in a file of another simulator.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NetworkFile")]
pub struct File {
    /// The format of the file.
    pub format: foreign::Format,
    /// The path of the file, relative to the scenario.
    pub path: String,
}

impl File {
    /// The network that the file describes.
    fn graph(&self, files: &mut Files) -> Result<Graph, InputError> {
        let graph = files.graph(self.format, &self.path)?;
        let single = |name: String| NodeGroup { name, count: None };
        let numbered = (0..).zip(&graph.hosts).all(|(i, name)| *name == format!("host{i}"));
        let hosts = match u32::try_from(graph.hosts.len()) {
            // A single group, so that traffic can name all of its hosts.
            Ok(count) if numbered => vec![NodeGroup { name: "host".into(), count: Some(count) }],
            _ => graph.hosts.into_iter().map(single).collect(),
        };
        let link = |link: foreign::Link| {
            let foreign::Link { ends, rate, delay, loss } = link;
            GraphLink { ends, rate, delay, loss }
        };
        Ok(Graph {
            hosts,
            switches: graph.switches.into_iter().map(|switch| single(switch.name)).collect(),
            links: graph.links.into_iter().map(link).collect(),
        })
    }
}

impl NetworkKind for File {
    const NAME: &'static str = "file";
    const SUMMARY: &'static str =
        "A file of another simulator, which becomes a graph when the scenario is read.";

    fn read(&self, files: &mut Files) -> Result<Option<Network>, Fault> {
        let graph = self.graph(files).map_err(|error| Fault::at([&"path"], error.to_string()))?;
        Ok(Some(Network::Graph(graph)))
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(()) // a graph, once it has been read
    }

    fn groups(&self) -> Vec<Named<'_>> {
        Vec::new()
    }

    fn build(&self, _: &mut Topology) {
        unreachable!("{} was read with the scenario", self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::TWO_HOSTS;
    use super::*;
    use crate::foreign::{Format, Formats};

    fn read(formats: Formats, texts: &[(&str, &str)]) -> Result<Option<Network>, Fault> {
        let texts = texts.iter().map(|&(name, text)| (name.into(), text.into()));
        let network = Network::File(File { format: Format::Hpcc, path: "topology.txt".into() });
        network.read(&mut Files::of("f", formats, texts.collect::<BTreeMap<_, _>>()))
    }

    #[test]
    fn a_file_becomes_a_graph_with_one_group_of_hosts() {
        let read = read(TWO_HOSTS, &[("topology.txt", "")]);
        let Ok(Some(network @ Network::Graph(_))) = read else { panic!("{read:?}") };
        let mut net = Topology::default();
        network.build(&mut net);
        assert_eq!(
            (&*net.hosts, &*net.switches),
            (&["host0", "host1"].map(String::from)[..], &["switch2".to_owned()][..])
        );
        assert_eq!(network.group_names(), ["host"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_fault_of_its_path() {
        let none = "topology.txt: this program reads no files of hpcc; expected one with \
                    incast-foreign's readers";
        for (texts, says) in
            [(&[("topology.txt", "")][..], none), (&[], "cannot read topology.txt: ")]
        {
            match read(Formats::NONE, texts) {
                Err(Fault::Path(path, message)) => {
                    assert_eq!(path.join("."), "network.file.path");
                    assert!(message.starts_with(says), "{message}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
