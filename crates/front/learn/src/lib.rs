//! Flows whose rate a learner sets, once per monitoring interval.
//!
//! * [`Observation`]: the features of an interval, in a fixed order, and their values in units;
//! * [`Action`]: how a number between two intervals changes the rate;
//! * [`Environment`]: a run in which some flows are the learner's and the others are under an
//!   ordinary scheme;
//! * [`Environments`]: many of them, which take a step side by side;
//! * [`Tree`]: a policy as a decision tree, which runs as an algorithm of its own.
//!
//! An interval ends one picosecond before a multiple of its length, and the action that answers it
//! takes effect at the multiple. So an observation does not depend on the order of events at one
//! instant, and a policy in a flow's own algorithm acts just as a policy outside does between two
//! steps.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

mod action;
mod environment;
mod environments;
mod learners;
mod monitor;
mod observation;
mod policy_control;
mod reward;
mod tree;
mod tree_algorithm;

pub use action::{Action, Control, ControlError};
pub use environment::{Environment, LearnError, Learner, Setup};
pub use environments::Environments;
pub use observation::{FEATURES, Feature, Observation, WIDTH};
pub use reward::Reward;
pub use tree::{Tree, TreeError};
pub use tree_algorithm::make_known;
