//! What every kind of traffic gives.

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
use super::resolved::ResolvedTraffic;

/// The settings of a kind of traffic, as a scenario writes them beside the common ones.
pub(crate) trait Settings: Kind + Clone + DeserializeOwned + JsonSchema {
    /// The name of the kind, as in `kind = "poisson"`.
    const NAME: &'static str;

    /// The common settings that the kind has no use for: a scenario that has them is refused.
    /// Traffic without `from` names its hosts itself; see [`Kind::pairs`].
    const WITHOUT: &'static [&'static str] = &[];
}

/// Reads the text of a file, by the path that the scenario writes.
pub(crate) type ReadFile<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Pairs of sender and receiver, by the names of hosts.
pub(crate) type Pairs<'a> = Box<dyn Iterator<Item = (&'a str, &'a str)> + 'a>;

/// A kind of traffic: what its settings may be, and what they ask of a run.
pub(crate) trait Kind: Debug {
    /// Puts the content of files in the place of their names.
    ///
    /// # Errors
    /// The name of a setting, and a sentence that says what is wrong with it.
    fn read_files(&mut self, _read: &mut ReadFile<'_>) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    /// Checks what the type of a single setting cannot say, and counts what the traffic asks for.
    /// The hosts of `from` and `to` are known by then.
    ///
    /// # Errors
    /// A setting is wrong, or does not fit the network.
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault>;

    /// Adds the flows, messages and applications to the plan of a run. Returns the payload that is
    /// offered, in bits per second, where the traffic has a load.
    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64>;

    /// The number of flows in the plan that have [`Life::Lasting`](incast_plan::flows::Life).
    fn lasting_flows(&self, _context: &Context<'_>) -> usize {
        0
    }

    /// The payload that the traffic sends until the end of the run, for an estimate of its cost.
    fn sent(&self, links: &Links<'_>) -> Sent;

    /// How its connections are used, for an estimate of the cost of a run.
    fn opens(&self) -> Opens {
        Opens::All
    }

    /// The load as a share of links, where the traffic has one.
    fn load(&self) -> Option<f64> {
        None
    }

    /// Adds what a load asks of the link of each host, and of the core. Kinds with a
    /// [`load`](Self::load) have this.
    fn demand(&self, _context: &Context<'_>, _demand: &mut Demand) {}

    /// The direction of the payload.
    fn operation(&self) -> Operation {
        Operation::Write
    }

    /// Whether each of its flows sends all the time.
    fn is_endless(&self) -> bool {
        false
    }

    /// The pairs of sender and receiver that the settings name one by one. Kinds without `from`
    /// have this.
    fn pairs(&self) -> Option<Pairs<'_>> {
        None
    }

    /// Fills in the fields of the resolved plan that the kind knows.
    fn resolve(&self, _resolved: &mut ResolvedTraffic) {}
}
