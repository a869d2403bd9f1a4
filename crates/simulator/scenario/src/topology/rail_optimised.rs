//! A rail-optimised network of servers with several GPUs: the GPUs of one place in their servers
//! share leaf switches, their rail.
//!
//! Each GPU is a host, since it has a NIC of its own. NVIDIA, "DGX SuperPOD: Next Generation
//! Scalable Infrastructure for AI Leadership", reference architecture, 2023: 32 servers and eight
//! leaves make a scalable unit, and a rail has a leaf in each unit.

use incast_cc::Rate;
use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{HostGroup, Named, Uplink, in_range, not_too_many};

/// Servers with several GPUs, each a host with a NIC of its own. The GPUs of one place in their
/// servers are a rail. In each unit of servers a rail has a leaf switch, which is connected to
/// every spine switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RailOptimised {
    /// The number of servers.
    pub servers: u32,
    /// The GPUs of each server; they are numbered consecutively, server by server.
    pub hosts: HostGroup,
    /// The servers of a unit, which a leaf has ports for; all servers if absent.
    pub unit: Option<u32>,
    /// The number of spine switches.
    pub spines: u32,
    /// The links between leaves and spines.
    pub uplink: Uplink,
}

impl RailOptimised {
    /// The number of GPUs of each server: of rails.
    fn rails(&self) -> u32 {
        self.hosts.count.unwrap_or(1)
    }

    /// The number of hosts of each leaf: a GPU of each server of a unit.
    fn unit(&self) -> u32 {
        self.unit.unwrap_or(self.servers)
    }

    fn uplink_rate(&self) -> Rate {
        self.uplink.rate_above(self.unit(), self.hosts.rate, self.spines)
    }
}

impl NetworkKind for RailOptimised {
    const NAME: &'static str = "rail-optimised";
    const SUMMARY: &'static str =
        "Servers with several GPUs, whose GPUs of one place share leaf switches.";

    fn check(&self) -> Result<(), Fault> {
        in_range("servers", self.servers, 1)?;
        in_range("spines", self.spines, 1)?;
        self.hosts.check("hosts", self.rails(), self.servers)?;
        let unit = self.unit();
        if unit == 0 || !self.servers.is_multiple_of(unit) {
            let servers = self.servers;
            let message = format!(
                "{servers} servers do not divide into units of {unit}; expected a divisor of \
                 {servers}"
            );
            return Err(Fault::at([&"unit"], message));
        }
        let leaves = u64::from(self.servers / unit) * u64::from(self.rails());
        let spines = u64::from(self.spines);
        not_too_many("spines", leaves + spines, leaves * spines)?;
        self.uplink.check("uplink", self.uplink_rate())
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.hosts.per_switch(self.rails(), self.servers)]
    }

    fn build(&self, net: &mut Topology) {
        let (rails, unit) = (self.rails(), self.unit());
        let leaves = net.layer(Layer::Leaf, self.servers / unit * rails);
        let spines = net.layer(Layer::Spine, self.spines);
        for host in 0..self.servers * rails {
            let (server, rail) = (host / rails, host % rails);
            let leaf = leaves[(server / unit * rails + rail) as usize];
            let host = net.host(format!("{}{host}", self.hosts.name));
            net.connect(host, leaf, self.hosts.rate, self.hosts.delay);
        }
        for &leaf in &leaves {
            for &spine in &spines {
                net.connect(leaf, spine, self.uplink_rate(), self.uplink.delay);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{built, layers, refused};
    use super::*;

    const SETTINGS: &str = r#"
        servers = 6
        hosts = { name = "gpu", count = 4, rate = "400Gbps", delay = "500ns" }
        unit = 3
        spines = 2
        uplink = { oversubscription = 1.5, delay = "1us" }
    "#;

    #[test]
    fn a_leaf_has_one_gpu_of_each_server_of_its_unit() {
        let net = built::<RailOptimised>(SETTINGS);
        assert_eq!((layers(&net, Layer::Leaf), layers(&net, Layer::Spine)), (2 * 4, 2));
        assert_eq!((net.hosts.len(), net.cables.len()), (6 * 4, 6 * 4 + 8 * 2));
        // GPU 1 of servers 0 to 2 is on leaf 1; GPU 3 of servers 3 to 5 on the last leaf.
        let of_leaf = |leaf| (0..24).filter(|&host| net.edge(host) == leaf).collect::<Vec<_>>();
        assert_eq!((of_leaf(1), of_leaf(7)), (vec![1, 5, 9], vec![15, 19, 23]));
        // 3 x 400 Gb/s from below, over 1.5 and two links: 400 Gb/s each.
        assert!(net.cables[24..].iter().all(|cable| cable.rates == [Rate::from_gbps(400); 2]));
        assert!(net.ports().switches[..8].iter().all(|ports| ports.len() == 3 + 2));
    }

    #[test]
    fn one_unit_has_one_leaf_for_each_rail() {
        let net = built::<RailOptimised>(&SETTINGS.replace("unit = 3", ""));
        assert_eq!((layers(&net, Layer::Leaf), net.cables.len()), (4, 24 + 4 * 2));
        assert!((0..24).all(|host| net.edge(host) == host % 4));
        // 6 x 400 Gb/s from below, over 1.5 and two links: 800 Gb/s each.
        assert!(net.cables[24..].iter().all(|cable| cable.rates == [Rate::from_gbps(800); 2]));
    }

    #[test]
    fn units_divide_the_servers() {
        for unit in [0, 4, 7] {
            let said =
                refused::<RailOptimised>(&SETTINGS.replace("unit = 3", &format!("unit = {unit}")));
            let expected = format!(
                "unit: 6 servers do not divide into units of {unit}; expected a divisor of 6"
            );
            assert_eq!(said, expected);
        }
    }
}
