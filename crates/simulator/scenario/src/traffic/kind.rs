//! The traits of a kind of traffic.

use std::fmt::Debug;

use incast_plan::Plan;
use incast_plan::flows::Operation;
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::amount::{Links, Opens, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::demand::Demand;
use crate::input::Files;

/// The settings of a kind of traffic, written in a scenario beside the common ones.
pub(crate) trait Settings: Kind + Clone + DeserializeOwned + JsonSchema {
    /// The name of the kind, as in `kind = "poisson"`.
    const NAME: &'static str;

    /// The common settings that the kind does not use: a scenario with them is refused. Traffic
    /// without `from` names its hosts one by one; see [`Kind::pairs`].
    const WITHOUT: &'static [&'static str] = &[];
}

/// Pairs of sender and receiver, by the names of hosts.
pub(crate) type Pairs<'a> = Box<dyn Iterator<Item = (&'a str, &'a str)> + 'a>;

/// A kind of traffic: the checks of its settings, and their effect on a run.
pub(crate) trait Kind: Debug {
    /// Replaces the names of files with their content.
    ///
    /// # Errors
    /// A file is wrong. The place is counted from the traffic.
    fn read_files(&mut self, _files: &mut Files) -> Result<(), Fault> {
        Ok(())
    }

    /// Makes the checks that the type of a single setting cannot make, and counts connections and
    /// messages. The hosts of `from` and `to` are known by then.
    ///
    /// # Errors
    /// A setting is wrong, or does not fit the network.
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault>;

    /// Adds the flows, messages and applications to the plan of a run. Returns the offered payload
    /// in bits per second, where the traffic has a load.
    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64>;

    /// The number of flows in the plan that have [`Life::Lasting`](incast_plan::flows::Life).
    fn lasting_flows(&self, _context: &Context<'_>) -> usize {
        0
    }

    /// The payload that the traffic sends until the end of the run, for an estimate of its cost.
    fn sent(&self, links: &Links<'_>) -> Sent;

    /// The use of the connections, for an estimate of the cost of a run.
    fn opens(&self) -> Opens {
        Opens::All
    }

    /// The load as a share of links, where the traffic has one.
    fn load(&self) -> Option<f64> {
        None
    }

    /// Adds the load on the link of each host, and on the core. Kinds with a [`load`](Self::load)
    /// implement this.
    fn demand(&self, _context: &Context<'_>, _demand: &mut Demand) {}

    /// The direction of the payload.
    fn operation(&self) -> Operation {
        Operation::Write
    }

    /// Whether each of the flows sends all the time.
    fn is_endless(&self) -> bool {
        false
    }

    /// Whether some flow sends all the time.
    fn has_endless(&self) -> bool {
        self.is_endless()
    }

    /// Whether some messages are posted when others have ended, at no time known before.
    fn waits(&self) -> bool {
        false
    }

    /// Whether messages have deadlines by the kind's own settings.
    fn has_deadlines(&self) -> bool {
        false
    }

    /// The pairs of sender and receiver that the settings name one by one. Kinds without `from`
    /// implement this.
    fn pairs(&self) -> Option<Pairs<'_>> {
        None
    }
}
