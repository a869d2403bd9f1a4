//! The parts of a switch: its buffer, its ports, its watchdog.

use incast_cc::{Bytes, Rate, Time};
use incast_transport::Scheduler;

use crate::network::buffer::{BufferConfig, ClassLimits, PfcConfig};
use crate::network::port::Port;
use crate::network::transmitter::Transmitter;
use crate::network::watchdog::Watchdog;
use incast_plan::random::{generator, purpose};
use incast_scenario::{MOST_CLASSES, ResolvedClass, Scenario, WatchdogAction};

/// The egress port of a switch, both by their numbers, onto a link of `rate`; `seed` is the run's.
pub(super) fn egress(
    scenario: &Scenario,
    classes: &[ResolvedClass],
    (transmitter, rate, start): (Transmitter, Rate, Time),
    seed: u64,
    (switch, port): (u32, u16),
) -> Port {
    let mut egress = Port::new(transmitter, classes.len(), scheduler(scenario, classes), start);
    for (number, class) in (0..).zip(classes) {
        if let Some(settings) = &class.aqm {
            let place = [u64::from(switch), u64::from(port), u64::from(number)];
            let random = generator(seed, purpose::QUEUE_MANAGEMENT, &place);
            let law = settings.start(rate, random);
            egress.manage(number, law, settings.is_of_whole_port());
        }
    }
    egress
}

pub(super) fn buffer_config(scenario: &Scenario, classes: &[ResolvedClass]) -> BufferConfig {
    let switch = &scenario.switch;
    let pfc = switch.pfc.enabled.then(|| PfcConfig {
        alpha: switch.pfc.alpha,
        xoff: switch.pfc.xoff.map(Bytes::get),
        xon_offset: switch.pfc.xon_offset.get(),
    });
    let limits = classes.iter().map(|class| ClassLimits {
        protected: class.protected,
        alpha: class.alpha,
        queue_limit: class.queue_limit.map(Bytes::get),
    });
    let port_limit = switch.port_limit.map(Bytes::get);
    BufferConfig { total: switch.buffer.get(), classes: limits.collect(), port_limit, pfc }
}

/// By class; none is never reached.
pub(super) fn ecn_thresholds(classes: &[ResolvedClass]) -> [u64; MOST_CLASSES] {
    let mut thresholds = [u64::MAX; MOST_CLASSES];
    for (threshold, class) in thresholds.iter_mut().zip(classes) {
        *threshold = class.ecn_threshold.map_or(u64::MAX, Bytes::get);
    }
    thresholds
}

pub(super) fn watchdog(scenario: &Scenario) -> Option<Watchdog> {
    let pfc = &scenario.switch.pfc;
    let drops = pfc.watchdog.action == WatchdogAction::Drop;
    pfc.enabled.then(|| Watchdog::new(pfc.watchdog.after, drops))
}

fn scheduler(scenario: &Scenario, classes: &[ResolvedClass]) -> Scheduler {
    let weights: Vec<_> = classes.iter().map(|class| class.weight).collect();
    Scheduler::new(&weights, scenario.transport.mtu.max(scenario.transport.ack).get())
}
