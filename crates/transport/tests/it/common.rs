//! The common parts of tests with whole endpoints.

pub(crate) mod audit;
pub(crate) mod net;
pub(crate) mod plain;
