//! The parts of a switch's buffer: headroom for PFC, and the shared buffer.

use incast_cc::Bytes;
use incast_plan::PFC_FRAME_BYTES;
use incast_plan::topology::{Cable, Node, Ports, Topology};

use crate::Scenario;

/// The headroom of a port for one class: as the scenario has it, or else as much as is needed.
pub fn headroom(scenario: &Scenario, cable: &Cable, end: usize) -> Bytes {
    scenario.switch.pfc.headroom.unwrap_or_else(|| needed_headroom(scenario, cable, end))
}

/// The bytes of one class that can still arrive at a port after it has sent a pause. The pause
/// waits for the packet being sent and for the pauses of other classes, and then travels to the far
/// end. There a packet may just have started, and the packets on the link still arrive. The packet
/// that crossed the threshold is one more. A switch at the far end whose port has a token bucket may
/// send its burst at once. While this port is slower than the link that comes in, more than a packet
/// arrives during the packet that is being sent.
pub fn needed_headroom(scenario: &Scenario, cable: &Cable, end: usize) -> Bytes {
    let (out, peak) = (cable.rates[end], cable.peaks[1 - end]);
    let on_the_way = peak.bytes_in(cable.delay * 2) + Bytes::new(1);
    let slower = cable.rates[1 - end].as_bps().div_ceil(out.as_bps().max(1)).max(1);
    let packet = scenario.transport.mtu.max(scenario.transport.ack);
    let of_switches = cable.ends.iter().all(|end| matches!(end, Node::Switch(_)));
    let burst = scenario.switch.burst_at(peak).filter(|_| of_switches);
    on_the_way
        + burst.unwrap_or(Bytes::ZERO)
        + packet * 2
        + (packet + Bytes::new(u64::from(PFC_FRAME_BYTES)) * protected_classes(scenario)) * slower
}

/// The part of each switch's buffer that is left after all headroom. This is work for each port:
/// whoever asks for many hosts asks once.
pub fn shared_buffers(scenario: &Scenario, topology: &Topology, ports: &Ports) -> Vec<Bytes> {
    let protected = protected_classes(scenario);
    let of_port = |&(cable, end): &(usize, usize)| match protected {
        0 => Bytes::ZERO,
        classes => headroom(scenario, &topology.cables[cable], end) * classes,
    };
    let reserved = ports.switches.iter().map(|ports| ports.iter().map(of_port).sum());
    reserved.map(|bytes| scenario.switch.buffer.saturating_sub(bytes)).collect()
}

/// The number of classes that PFC protects.
pub(crate) fn protected_classes(scenario: &Scenario) -> u64 {
    scenario.data_classes().iter().map(|class| u64::from(class.protected)).sum()
}
