//! A network in a file of another simulator, which becomes a graph when the scenario is read.

use incast_plan::topology::Topology;
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::graph::{Graph, GraphLink, NodeGroup};
use super::parts::Named;
use super::{Network, NetworkKind, ReadFile};
use crate::foreign;

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
    fn graph(&self, text: &str) -> Result<Graph, String> {
        let graph =
            foreign::graph(self.format, &self.path, text).map_err(|error| error.to_string())?;
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

    fn read(&self, read: ReadFile<'_>) -> Result<Option<Network>, Fault> {
        let graph = read(&self.path).and_then(|text| self.graph(&text));
        let graph = graph.map_err(|message| Fault::at([&"path"], message))?;
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
    use super::*;

    #[test]
    fn a_file_becomes_a_graph_with_one_group_of_hosts() {
        let format = foreign::Format::Hpcc;
        let file = File { format, path: "topology.txt".into() };
        let text = "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 25Gbps 1us 0\n";
        let read = file.read(&mut |path| {
            assert_eq!(path, "topology.txt");
            Ok(text.into())
        });
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
        let format = foreign::Format::Htsim;
        let network = Network::File(File { format, path: "x.topo".into() });
        match network.read(&mut |_| Err("gone".into())) {
            Err(Fault::Path(path, message)) => {
                assert_eq!((path.join("."), &*message), ("network.file.path".into(), "gone"));
            }
            other => panic!("{other:?}"),
        }
    }
}
