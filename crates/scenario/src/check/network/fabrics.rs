//! Networks of a regular shape: numbers that fit each other, and rates that can be had.

use incast_cc::Rate;

use super::super::super::{Clos, FatTree, HostGroup, LeafSpine, ParkingLot, Uplink};
use super::super::out_of_bounds;
use super::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES, Where, at_least_two, check_name, fault};
use incast_schema::Fault;

/// Most switches of one field: products of four such numbers fit 64 bits.
const MAX_COUNT: u32 = 4_096;

pub(super) fn leaf_spine(fabric: &LeafSpine) -> Result<(), Fault> {
    const KIND: &str = "leaf-spine";
    in_range(&[&KIND, &"leaves"], fabric.leaves, 1)?;
    in_range(&[&KIND, &"spines"], fabric.spines, 1)?;
    let links = u64::from(fabric.leaves) * u64::from(fabric.spines);
    not_too_many(&[&KIND, &"spines"], u64::from(fabric.leaves + fabric.spines), links)?;
    let hosts = fabric.hosts.count.unwrap_or(1);
    check_hosts(&[&KIND, &"hosts"], &fabric.hosts, hosts, fabric.leaves)?;
    check_uplink(&[&KIND, &"uplink"], &fabric.uplink, fabric.rack().1)
}

pub(super) fn fat_tree(fabric: &FatTree) -> Result<(), Fault> {
    const KIND: &str = "fat-tree";
    let k = fabric.k;
    if !(2..=64).contains(&k) || !k.is_multiple_of(2) {
        let message = format!("{k} is out of range; expected an even number, 2 to 64");
        return Err(fault(&[&KIND, &"k"], message));
    }
    let tiers = fabric.tiers();
    check_hosts(&[&KIND, &"hosts"], &fabric.hosts, tiers.hosts, tiers.pods * tiers.leaves)
}

pub(super) fn clos(fabric: &Clos) -> Result<(), Fault> {
    const KIND: &str = "clos";
    let Clos { pods, leaves, aggregations, cores, .. } = *fabric;
    for (field, count) in
        [("pods", pods), ("leaves", leaves), ("aggregations", aggregations), ("cores", cores)]
    {
        in_range(&[&KIND, &field], count, 1)?;
    }
    if !cores.is_multiple_of(aggregations) {
        let message = format!(
            "{cores} core switches do not divide among the {aggregations} aggregation switches of \
             a pod; expected a multiple of {aggregations}"
        );
        return Err(fault(&[&KIND, &"cores"], message));
    }
    let [pods, leaves, aggregations, cores] = [pods, leaves, aggregations, cores].map(u64::from);
    let switches = pods * (leaves + aggregations) + cores;
    not_too_many(&[&KIND, &"pods"], switches, pods * (leaves * aggregations + cores))?;
    let tiers = fabric.tiers();
    check_hosts(&[&KIND, &"hosts"], &fabric.hosts, tiers.hosts, tiers.pods * tiers.leaves)?;
    check_uplink(&[&KIND, &"leaf_uplink"], &fabric.leaf_uplink, tiers.lower.0)?;
    check_uplink(&[&KIND, &"aggregation_uplink"], &fabric.aggregation_uplink, tiers.upper.0)
}

pub(super) fn parking_lot(lot: &ParkingLot) -> Result<(), Fault> {
    const KIND: &str = "parking-lot";
    in_range(&[&KIND, &"switches"], lot.switches, 2)?;
    let hosts = lot.hosts.count.unwrap_or(1);
    check_hosts(&[&KIND, &"hosts"], &lot.hosts, hosts, lot.switches)
}

fn in_range(place: Where<'_>, count: u32, least: u32) -> Result<(), Fault> {
    if (least..=MAX_COUNT).contains(&count) {
        return Ok(());
    }
    let message = format!("{count} is out of range; expected {least} to {MAX_COUNT}");
    Err(fault(place, message))
}

fn not_too_many(place: Where<'_>, switches: u64, links: u64) -> Result<(), Fault> {
    for (count, most, what) in
        [(switches, MAX_SWITCHES, "switches"), (links, MAX_LINKS, "links between switches")]
    {
        if count > most {
            return Err(fault(place, out_of_bounds(count, count, most, what)));
        }
    }
    Ok(())
}

/// `each` hosts on each of so many switches.
fn check_hosts(place: Where<'_>, hosts: &HostGroup, each: u32, switches: u32) -> Result<(), Fault> {
    check_name(&hosts.name, "host")
        .map_err(|message| fault(&[place, &[&"name"]].concat(), message))?;
    let all = u64::from(each) * u64::from(switches);
    if all == 0 || all > MAX_HOSTS {
        let message = out_of_bounds(u64::from(each), all, MAX_HOSTS, "hosts");
        return Err(fault(&[place, &[&"count"]].concat(), message));
    }
    at_least_two(all)
}

/// `rate` is what the uplink comes to.
fn check_uplink(place: Where<'_>, uplink: &Uplink, rate: Rate) -> Result<(), Fault> {
    match (uplink.rate, uplink.oversubscription) {
        (Some(_), Some(_)) => {
            let message = "both rate and oversubscription; expected one of them".into();
            Err(fault(&[place, &[&"oversubscription"]].concat(), message))
        }
        (None, None) => {
            let message = "no rate; expected rate, such as \"100Gbps\", or oversubscription".into();
            Err(fault(place, message))
        }
        (None, Some(factor)) if !(Rate::from_mbps(1)..=Rate::from_gbps(1_600)).contains(&rate) => {
            let message = format!(
                "an over-subscription of {factor} gives links of {rate}; expected 1Mbps to 1600Gbps"
            );
            Err(fault(&[place, &[&"oversubscription"]].concat(), message))
        }
        _ => Ok(()),
    }
}
