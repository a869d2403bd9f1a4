//! The work that runs on networks: arrivals, requests, incasts, collectives and lists of flows, how
//! long each takes beside the ideal, and what a fabric makes of them.
//!
//! Samples are compared with the distribution that was asked for. Bounds are those that chance
//! exceeds once in a thousand seeds or less often; seeds are fixed, so a test that passes once
//! always does.

mod arrivals;
mod arrivals_to_whom;
mod causality;
mod collective;
mod collectives;
mod deadlines;
mod drain;
mod everything;
mod fabric;
mod filling;
mod ideal;
mod incast;
mod jobs;
mod listed;
mod lower_bound;
mod max_min;
mod overload;
mod queueing;
mod references;
mod requests;
mod setting;
mod sharing;
mod traces;
mod unfinished;
mod windows;
