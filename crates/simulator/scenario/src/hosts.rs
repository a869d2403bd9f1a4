//! The hosts of a network, found by name.

use std::ops::{Range, RangeInclusive};

use incast_plan::topology::Topology;
use incast_schema::suggestion;

use crate::Network;

impl Network {
    pub(crate) fn group_names(&self) -> Vec<&str> {
        let groups = self.groups().into_iter();
        groups.filter(|group| group.count.is_some()).map(|group| group.name).collect()
    }

    /// The numbers of the hosts that `name` stands for: a group, one host, or part of a group such
    /// as `host[0-15]` or `host[0-15:4]`. Ascending, since hosts are numbered group by group.
    pub fn hosts_called(&self, name: &str, net: &Topology) -> Vec<u32> {
        if let Some(all) = self.group_called(name) {
            return all.collect();
        }
        if let Some(host) = net.hosts.iter().position(|host| host == name) {
            return (0..).skip(host).take(1).collect();
        }
        let some = part_of_group(name).and_then(|(group, part, step)| {
            let all = self.group_called(group)?;
            let some =
                all.start.checked_add(*part.start())?..=all.start.checked_add(*part.end())?;
            let is_part = some.start() <= some.end() && *some.end() < all.end;
            is_part.then(|| some.step_by(step))
        });
        some.into_iter().flatten().collect()
    }

    /// The numbers of the hosts of a group.
    pub(crate) fn group_called(&self, name: &str) -> Option<Range<u32>> {
        let mut first = 0;
        for group in self.groups() {
            let end = first + group.count.unwrap_or(1);
            if group.name == name {
                return Some(first..end);
            }
            first = end;
        }
        None
    }
}

/// Reads part of a group such as `host[0-15]` or `host[0-15:4]`: the group, its first and last
/// number, and the step from one number to the next.
fn part_of_group(name: &str) -> Option<(&str, RangeInclusive<u32>, usize)> {
    let (group, part) = name.strip_suffix(']')?.split_once('[')?;
    let (part, step) = part.split_once(':').unwrap_or((part, "1"));
    let (first, last) = part.split_once('-')?;
    let step = step.parse().ok().filter(|&step| step > 0)?;
    Some((group, first.parse().ok()?..=last.parse().ok()?, step))
}

/// The sentence for `name`, which is neither a host nor one of the `others`.
pub(crate) fn unknown_host(
    network: &Network,
    net: &Topology,
    name: &str,
    others: &[String],
) -> String {
    if let Some((group, ..)) = part_of_group(name)
        && let Some(hosts) = network.group_called(group)
    {
        let last = hosts.len() - 1;
        return format!("{name:?} is no part of {group}[0-{last}], which is all of that group");
    }
    let mut known = network.group_names();
    known.extend(net.hosts.iter().chain(others).map(String::as_str));
    format!("unknown host {name:?}{}", suggestion(name, &known))
}

#[cfg(test)]
mod tests {
    use crate::Document;
    use crate::topology::topology;

    #[test]
    fn part_of_a_group_may_have_a_step() {
        let text = "title = \"t\"\nrun = { duration = \"1ms\", schemes = [\"timely\"] }\n\
             traffic = [{ kind = \"connections\", from = \"a0\", to = \"b\" }]\n[network.star]\n\
             hosts = [{ name = \"a\", count = 3, rate = \"10Gbps\", delay = \"1us\" },\
             { name = \"b\", count = 12, rate = \"10Gbps\", delay = \"1us\" }]";
        let document = Document::parse(text.into(), "t.toml").unwrap();
        let net = topology(document.scenario());
        let called = |name| document.scenario().network.hosts_called(name, &net);
        assert_eq!(called("b[1-9:4]"), [4, 8, 12]);
        assert_eq!(called("b[1-8:4]"), [4, 8]);
        assert_eq!(called("b[2-4]"), [5, 6, 7]);
        for wrong in ["b[1-9:0]", "b[1-9:]", "b[1-9:x]", "b[1-12:4]", "b[9-1:4]", "b[1:4]"] {
            assert_eq!(called(wrong), [0; 0], "{wrong}");
        }
    }
}
