//! Warnings of PFC on paths that can dead-lock.

use incast_plan::Watch;
use incast_scenario::{RoutingKind, Scenario, WatchdogAction, topology};

use crate::routing::{Routing, has_circle};

/// A warning if PFC protects a class, and links on the first routes may wait for each other in a
/// circle. A watchdog that drops ends every dead-lock.
pub fn dead_lock_warnings(scenario: &Scenario) -> Vec<String> {
    let pfc = &scenario.switch.pfc;
    let classes = scenario.classes(scenario.transport.kind);
    if !classes.iter().any(|class| class.protected) || pfc.watchdog.action == WatchdogAction::Drop {
        return Vec::new();
    }
    if !may_wait_in_a_circle(scenario) {
        return Vec::new();
    }
    let kind = scenario.network.kind();
    let paths = if scenario.routing_kinds().contains(&RoutingKind::Valiant) {
        "paths through other groups"
    } else {
        "shortest paths"
    };
    vec![format!(
        "switch.pfc.enabled = true on network.{kind}: {paths} lead over links that can wait for \
         each other in a circle, a dead-lock, since there are no virtual channels; turn PFC off, \
         set switch.pfc.watchdog.action to \"drop\", or routing.kind to \"spanning-trees\""
    )]
}

/// Whether links on the paths of all hosts to all may wait for each other in a circle.
fn may_wait_in_a_circle(scenario: &Scenario) -> bool {
    let net = topology(scenario);
    let kinds = scenario.routing_kinds();
    if kinds.contains(&RoutingKind::Valiant) {
        // Among three switches with hosts, a way may lead from any one through another to the
        // third.
        return net.edge_switches() > 2;
    }
    let trees = kinds.contains(&RoutingKind::SpanningTrees);
    if !trees && net.layers.iter().any(|layer| layer.is_core()) {
        return false; // shortest paths lead up and then down
    }
    let ports = net.ports();
    let routing = Routing::new(scenario, &net, &ports, scenario.run.seed, &Watch::nobody());
    has_circle(&routing, &net, &ports) == Some(true)
}
