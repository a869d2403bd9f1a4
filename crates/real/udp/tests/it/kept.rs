//! Properties whose failing cases are kept.

use proptest::test_runner::{Config, FileFailurePersistence};

/// A number of random cases, few under Miri. Those that fail are kept in a file, and tried first from
/// then on.
pub(crate) fn kept(file: &'static str, cases: u32) -> Config {
    Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..Config::with_cases(if cfg!(miri) { cases.div_ceil(1_000) } else { cases })
    }
}
