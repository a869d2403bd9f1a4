//! The parts of a switch's buffer: headroom for PFC, and the shared buffer.

use incast_cc::Bytes;
use incast_plan::PFC_FRAME_BYTES;
use incast_plan::topology::{Cable, Node, Topology};

use crate::Scenario;

/// The bytes of one class that can still arrive at a port after it has sent a pause. The pause
/// waits for the packet being sent and for the pauses of other classes, and then travels to the far
/// end. There a packet may just have started, and the packets on the link still arrive. The packet
/// that crossed the threshold is one more. A switch at the far end whose port has a token bucket may
/// send its burst at once.
pub fn headroom(scenario: &Scenario, cable: &Cable) -> Bytes {
    scenario.switch.pfc.headroom.unwrap_or_else(|| {
        let on_the_way = cable.peak.bytes_in(cable.delay * 2) + Bytes::new(1);
        let packet = scenario.transport.mtu.max(scenario.transport.ack);
        let of_switches = cable.ends.iter().all(|end| matches!(end, Node::Switch(_)));
        let burst = scenario.switch.burst_at(cable.peak).filter(|_| of_switches);
        on_the_way
            + burst.unwrap_or(Bytes::ZERO)
            + packet * 3
            + Bytes::new(u64::from(PFC_FRAME_BYTES)) * protected_classes(scenario)
    })
}

/// The part of a switch's buffer that is left after all headroom.
pub fn shared_buffer(scenario: &Scenario, topology: &Topology, switch: u32) -> Bytes {
    let ports = topology.ports();
    let cables = ports.switches[switch as usize].iter();
    let by_port = cables.map(|&(cable, _)| headroom(scenario, &topology.cables[cable]));
    let reserved = by_port.sum::<Bytes>() * protected_classes(scenario);
    scenario.switch.buffer.saturating_sub(reserved)
}

/// The number of classes that PFC protects.
pub(crate) fn protected_classes(scenario: &Scenario) -> u64 {
    scenario.data_classes().iter().map(|class| u64::from(class.protected)).sum()
}
