//! DCTCP: a window, from the fraction of marked packets.

use std::mem::MaybeUninit;

use incast_cc::dctcp;
use incast_cc::registry::AnyAlgorithm;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skeleton::DctcpSkelBuilder;
use self::skeleton::types::{dctcp_constants, dctcp_knobs};
use super::{ONE_Q20, Object, Reading};
use crate::Result;
use crate::shared::{FlowEvent, Record, Shared as _, put_name};
use crate::values::Values;

skeleton!(dctcp);
shared!(dctcp_knobs);

#[derive(Debug)]
pub(crate) struct Program;

impl super::Program for Program {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn knobs(&self, values: &Values) -> Result<Vec<u8>> {
        let AnyAlgorithm::Dctcp(params) = &values.law else {
            unreachable!("values are those of their program")
        };
        let constants = constants(&dctcp::Constants::new(params));
        Ok(dctcp_knobs { dctcp: constants, ..dctcp_knobs::default() }.bytes().to_vec())
    }

    fn register(&self, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
        let mut object = MaybeUninit::uninit();
        let mut open = DctcpSkelBuilder::default().open(&mut object)?;
        put_name(&mut open.struct_ops.dctcp_mut().name, name);
        let mut skel = open.load()?;
        register!(skel, knobs, record, dctcp, dctcp_record);
        Ok(())
    }

    fn objects(&self) -> &'static [Object] {
        objects!["dctcp"]
    }

    /// The gauge is alpha.
    fn reading(&self, event: &FlowEvent) -> Reading {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let alpha = event.gauge as f64 / ONE_Q20;
        Reading { gauge: alpha, counter: None, branch: "" }
    }
}

/// The constants of `incast-cc` as the C core has them.
pub(crate) fn constants(k: &dctcp::Constants) -> dctcp_constants {
    dctcp_constants { g_q20: k.g_q20, initial_alpha_q20: k.initial_alpha_q20 }
}
