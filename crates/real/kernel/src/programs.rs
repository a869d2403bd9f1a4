//! The BPF programs, a file each.
//!
//! A new program is a file here and a line in the list below; its BPF is `bpf/NAME.bpf.c`, with the
//! integer core in `bpf/core/NAME.h`. The build compiles whatever this folder names. A case of the
//! core in `bpf/twin.h`, `src/twin.rs` and `tests/twin.rs` compares it with `incast-cc`.

use std::fmt::Debug;

use crate::Result;
use crate::param::KernelParam;
use crate::shared::{FlowEvent, Record};
use crate::values::Values;

/// A plain object: the name of its file, and its bytes.
pub(crate) type Object = (&'static str, &'static [u8]);

/// A BPF program that runs an algorithm of `incast-cc` on Linux TCP.
pub(crate) trait Program: Debug + Sync {
    /// The algorithm's name in `incast-cc`.
    fn name(&self) -> &'static str;

    /// The preset that settings begin with; [`None`] stands for the algorithm's own defaults.
    fn preset(&self) -> Option<&'static str> {
        None
    }

    /// The parameters that only the program has.
    fn params(&self) -> &'static [KernelParam] {
        &[]
    }

    /// The parameters of the algorithm that every preset takes from [`preset`](Self::preset) unless
    /// it sets them itself: they concern hosts, whatever the constants of the law.
    fn host_params(&self) -> &'static [&'static str] {
        &[]
    }

    /// The bytes of the program's knobs.
    ///
    /// # Errors
    /// A value does not fit the program.
    fn knobs(&self, values: &Values) -> Result<Vec<u8>>;

    /// Loads the program with these knobs and registers it for sockets as `name`, to stay when this
    /// process ends. Completes `record` and leaves it beside the program.
    ///
    /// # Errors
    /// The kernel refuses.
    fn register(&self, name: &str, knobs: &[u8], record: &mut Record) -> Result<()>;

    /// The plain objects that the build has made.
    fn objects(&self) -> &'static [Object];

    /// The parts of an event whose meaning depends on the algorithm.
    fn reading(&self, event: &FlowEvent) -> Reading;
}

/// The parts of an event whose meaning depends on the algorithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The algorithm's measure of congestion.
    pub(crate) gauge: f64,
    /// Regulated TCP's counter.
    pub(crate) counter: Option<f64>,
    /// The last decision of the algorithm.
    pub(crate) branch: &'static str,
}

/// The number one with 20 bits behind the point.
const ONE_Q20: f64 = 1_048_576.0;

/// Plain objects by the names that the build gives them.
macro_rules! objects {
    ($($name:literal),+ $(,)?) => {
        &[$((
            concat!($name, ".bpf.o"),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
        )),+]
    };
}

/// Fills in knobs and record of a loaded skeleton, then registers its `struct_ops` map.
macro_rules! register {
    ($skel:ident, $knobs:expr, $record:expr, $ops:ident, $record_map:ident) => {{
        use libbpf_rs::{MapCore as _, MapFlags};

        use crate::shared::{FIRST, Shared as _};

        $skel.maps.data_knobs.update(&FIRST, $knobs, MapFlags::ANY)?;
        $record.ops_map_id = $skel.maps.$ops.info()?.info.id;
        $skel.maps.$record_map.update(&FIRST, $record.bytes(), MapFlags::ANY)?;
        $skel.maps.$ops.attach_struct_ops()?.disconnect();
    }};
}

macro_rules! programs {
    ($($module:ident)+) => {
        $(pub(crate) mod $module;)+

        /// Every program, in the order in which they are listed.
        pub(crate) const ALL: [&dyn Program; [$(stringify!($module)),+].len()] =
            [$(&$module::Program),+];
    };
}

programs! {
    timely
    rtcp
    dctcp
}
