//! The common parts of tests with whole endpoints.

pub(crate) mod audit;
pub(crate) mod net;
pub(crate) mod plain;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// A number of random cases. Those that fail are kept in a file, and tried first from then on.
pub(crate) fn kept(file: &'static str, cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..ProptestConfig::with_cases(cases)
    }
}
