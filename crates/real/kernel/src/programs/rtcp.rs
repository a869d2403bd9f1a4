//! Regulated TCP: a window, from a counter and the price of delay.

use std::mem::MaybeUninit;

use incast_cc::registry::AnyAlgorithm;
use incast_cc::rtcp;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skeleton::RtcpSkelBuilder;
use self::skeleton::types::{rtcp_constants, rtcp_knobs};
use super::{ONE_Q20, Object, Reading};
use crate::param::KernelParam;
use crate::shared::{FlowEvent, Record, Shared as _, put_name};
use crate::values::Values;
use crate::{Error, Result};

skeleton!(rtcp);
shared!(rtcp_knobs);

#[derive(Debug)]
pub(crate) struct Program;

impl super::Program for Program {
    fn name(&self) -> &'static str {
        "rtcp"
    }

    /// The preset for the testbed of the authors.
    fn preset(&self) -> Option<&'static str> {
        Some("testbed-websearch-1to1")
    }

    fn params(&self) -> &'static [KernelParam] {
        &[KernelParam {
            name: "line_rate",
            default: "10Gbps",
            doc: "rate of the NIC, for the largest window (ceiling=line-rate)",
        }]
    }

    fn knobs(&self, values: &Values) -> Result<Vec<u8>> {
        let AnyAlgorithm::Rtcp(params) = &values.law else {
            unreachable!("values are those of their program")
        };
        let k = rtcp::Constants::new(params);
        if k.counter != rtcp::CounterClock::Ack {
            return Err(Error::NotOnLinux {
                setting: "counter=time-clocked",
                because: "counts packets",
                expected: "counter=ack-clocked",
            });
        }
        let line_bps = match k.ceiling {
            rtcp::Ceiling::LineRate => values.rate("line_rate")?.as_bps(),
            rtcp::Ceiling::Peer => 0,
        };
        let knobs = rtcp_knobs {
            rtcp: constants(&k),
            w_urgent: k.w_urgent,
            w_high_volume: k.w_high_volume,
            urgent_below: k.urgent_below,
            line_bps,
            sender_backlog: (k.sender_backlog == rtcp::SenderBacklog::Counted).into(),
            total_rtt: (k.delay == rtcp::DelaySignal::TotalRtt).into(),
            per_rtt: (k.step == rtcp::Step::Rtt).into(),
            ..rtcp_knobs::default()
        };
        Ok(knobs.bytes().to_vec())
    }

    fn register(&self, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
        let mut object = MaybeUninit::uninit();
        let mut open = RtcpSkelBuilder::default().open(&mut object)?;
        put_name(&mut open.struct_ops.rtcp_mut().name, name);
        let mut skel = open.load()?;
        register!(skel, knobs, record, rtcp, rtcp_record);
        Ok(())
    }

    fn objects(&self) -> &'static [Object] {
        objects!["rtcp"]
    }

    /// The gauge is the price.
    fn reading(&self, event: &FlowEvent) -> Reading {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let (price, counter) = (event.gauge as f64 / ONE_Q20, event.counter as f64 / ONE_Q20);
        let branch = if event.branch == 0 { "halves" } else { "doubles" };
        Reading { gauge: price, counter: Some(counter), branch }
    }
}

/// The constants of `incast-cc` as the C core has them.
pub(crate) fn constants(k: &rtcp::Constants) -> rtcp_constants {
    rtcp_constants {
        alpha: k.alpha,
        delta: k.delta,
        delay_unit_ns: k.delay_unit_ns,
        queue_unit: k.queue_unit,
        g_q20: k.g_q20,
        max_rate_q20: k.max_rate_q20,
        floor_segments: k.floor_segments,
        smooth: (k.smooth == rtcp::Smooth::Backlog).into(),
    }
}
