//! Switches in rows and columns, each connected to its four neighbours; the ends of a row, and of a
//! column, are neighbours, too.
//!
//! Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, chapter 5: a
//! torus with n = 2 dimensions.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{Cable, HostGroup, Named, in_range, not_too_many};

/// Switches in rows and columns, whose ends are connected.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Torus {
    /// Rows, at least three: two nodes have at most one link.
    pub rows: u32,
    /// Columns, at least three.
    pub columns: u32,
    /// The hosts of each switch, numbered consecutively, switch by switch.
    pub hosts: HostGroup,
    /// Links between neighbouring switches.
    pub link: Cable,
}

impl Torus {
    /// Hosts of each switch.
    fn each(&self) -> u32 {
        self.hosts.count.unwrap_or(1)
    }
}

impl NetworkKind for Torus {
    const NAME: &'static str = "torus";
    const SUMMARY: &'static str = "Switches in rows and columns, whose ends are connected.";

    fn check(&self) -> Result<(), Fault> {
        in_range("rows", self.rows, 3)?;
        in_range("columns", self.columns, 3)?;
        let switches = u64::from(self.rows) * u64::from(self.columns);
        not_too_many("columns", switches, 2 * switches)?;
        self.hosts.check("hosts", self.each(), self.rows * self.columns)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.hosts.per_switch(self.each(), self.rows.saturating_mul(self.columns))]
    }

    fn build(&self, net: &mut Topology) {
        let switches = net.layer(Layer::Switch, self.rows * self.columns);
        self.hosts.attach(net, &switches, self.each());
        let at = |row: u32, column: u32| {
            switches[(row % self.rows * self.columns + column % self.columns) as usize]
        };
        for row in 0..self.rows {
            for column in 0..self.columns {
                for next in [at(row, column + 1), at(row + 1, column)] {
                    net.connect(at(row, column), next, self.link.rate, self.link.delay);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{built, refused};
    use super::*;

    const SETTINGS: &str = r#"
        rows = 3
        columns = 4
        hosts = { name = "host", count = 2, rate = "10Gbps", delay = "1us" }
        link = { rate = "40Gbps", delay = "1us" }
    "#;

    #[test]
    fn each_switch_has_four_neighbours() {
        let net = built::<Torus>(SETTINGS);
        assert_eq!((net.switches.len(), net.hosts.len()), (3 * 4, 3 * 4 * 2));
        assert_eq!(net.cables.len(), 24 + 2 * 3 * 4);
        assert!(net.ports().switches.iter().all(|ports| ports.len() == 2 + 4));
        let link = |a: &str, b: &str| net.cable_between(net.node(a)?, net.node(b)?);
        assert!(link("switch3", "switch0").is_some(), "the ends of the first row");
        assert!(link("switch9", "switch1").is_some(), "the ends of the second column");
        assert!(link("switch3", "switch4").is_none(), "the end of a row and the next row");
    }

    #[test]
    fn two_rows_would_have_two_links_between_neighbours() {
        let said = refused::<Torus>(&SETTINGS.replace("rows = 3", "rows = 2"));
        assert_eq!(said, "rows: 2 is out of range; expected 3 to 4096");
    }
}
