//! The settings of switches, as the network takes them.

use incast_cc::Bytes;
use incast_net::{ClassConfig, ClassLimits, PfcConfig, SwitchConfig, WatchdogConfig};
use incast_scenario::{EcnScope, ResolvedClass, RoutingKind, Scenario, Scheme, WatchdogAction};

/// The settings that all switches share under `scheme`.
pub(super) fn switch_config(scenario: &Scenario, scheme: Scheme, look_ahead: u32) -> SwitchConfig {
    let (switch, transport) = (&scenario.switch, &scenario.transport);
    let pfc = &switch.pfc;
    SwitchConfig {
        buffer: switch.buffer.get(),
        classes: scenario.classes(scheme.transport).iter().map(class_config).collect(),
        port_limit: switch.port_limit.map(Bytes::get),
        ecn_of_port: switch.ecn_scope == EcnScope::Port,
        pfc: pfc.enabled.then(|| PfcConfig {
            alpha: pfc.alpha,
            xoff: pfc.xoff.map(Bytes::get),
            xon_offset: pfc.xon_offset.get(),
        }),
        watchdog: pfc.enabled.then(|| WatchdogConfig {
            after: pfc.watchdog.after,
            drops: pfc.watchdog.action == WatchdogAction::Drop,
        }),
        largest_packet: transport.mtu.max(transport.ack).get(),
        look_ahead,
        several_paths: has_several_paths(scenario) || scheme.chooses_class(),
    }
}

/// Whether packets of one connection may take several paths.
fn has_several_paths(scenario: &Scenario) -> bool {
    scenario.routing.kind == RoutingKind::Spray || !scenario.events.is_empty()
}

fn class_config(class: &ResolvedClass) -> ClassConfig {
    ClassConfig {
        weight: class.weight,
        limits: ClassLimits {
            protected: class.protected,
            alpha: class.alpha,
            queue_limit: class.queue_limit.map(Bytes::get),
        },
        ecn_threshold: class.ecn_threshold.map(Bytes::get),
        management: class.aqm.clone(),
        discipline: class.discipline.clone(),
    }
}
