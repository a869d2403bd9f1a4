//! The settings of switches, as the network takes them.

use incast_cc::Bytes;
use incast_net::{ClassConfig, ClassLimits, PfcConfig, SwitchConfig, WatchdogConfig};
use incast_scenario::{
    EcnScope, Mix, ResolvedClass, RoutingKind, Scenario, Scheme, WatchdogAction,
};

/// The settings that all switches share under the schemes of a run.
pub(super) fn switch_config(scenario: &Scenario, mix: &Mix, look_ahead: u32) -> SwitchConfig {
    let (switch, transport) = (&scenario.switch, &scenario.transport);
    let pfc = &switch.pfc;
    SwitchConfig {
        buffer: switch.buffer.get(),
        classes: scenario.classes_in(mix).iter().map(class_config).collect(),
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
        feedback: mix.feedback(switch),
        several_paths: has_several_paths(scenario) || mix.any(Scheme::chooses_class),
    }
}

/// Whether packets of one connection may take several paths.
fn has_several_paths(scenario: &Scenario) -> bool {
    scenario.routing_kinds().contains(&RoutingKind::Spray) || !scenario.events.is_empty()
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
        ecn_at: class.ecn_at,
        management: class.aqm.clone(),
        discipline: class.discipline.clone(),
    }
}
