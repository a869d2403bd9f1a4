//! The common parts of tests with whole endpoints.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod audit;
pub(crate) mod net;
pub(crate) mod plain;
