//! Buffers that hold what they must.

use incast_cc::Bytes;

use super::super::Scenario;
use super::super::error::Fault;
use crate::build::headroom;
use crate::topology::Topology;

pub(super) fn check_switch(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let switch = &scenario.switch;
    if let Some(limit) = switch.queue_limit
        && limit > switch.buffer
    {
        let message = format!("a queue of {limit} does not fit the buffer of {}", switch.buffer);
        return Err(Fault::at([&"switch", &"queue_limit"], message));
    }
    if switch.buffer < scenario.transport.mtu {
        let message = format!(
            "a buffer of {} does not hold one packet of {}; make it larger",
            switch.buffer, scenario.transport.mtu
        );
        return Err(Fault::at([&"switch", &"buffer"], message));
    }
    if switch.pfc.enabled {
        for (number, ports) in net.ports().switches.iter().enumerate() {
            let reserved: Bytes =
                ports.iter().map(|&(cable, _)| headroom(scenario, &net.cables[cable])).sum();
            if reserved + scenario.transport.mtu.max(scenario.transport.ack) > switch.buffer {
                let message = format!(
                    "the PFC headroom of {}'s {} ports takes {reserved} of the buffer of {}; make \
                     the buffer larger, or the links shorter",
                    net.switches[number],
                    ports.len(),
                    switch.buffer
                );
                return Err(Fault::at([&"switch", &"buffer"], message));
            }
            let shared = switch.buffer.saturating_sub(reserved);
            if let Some(xoff) = switch.pfc.xoff
                && xoff > shared
            {
                let message = format!(
                    "an XOFF threshold of {xoff} is never reached: {} shares {shared}; make it lower",
                    net.switches[number]
                );
                return Err(Fault::at([&"switch", &"pfc", &"xoff"], message));
            }
        }
    }
    Ok(())
}
