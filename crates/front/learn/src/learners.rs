//! The algorithm of a run in which some flows are a learner's: these have an exchange each, and the
//! others an ordinary algorithm.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Conflict, Info, Need, Param};
use incast_cc::{AnyAlgorithm, Flow};

use crate::action::Control;
use crate::policy_control::{Exchange, Held, Policy, PolicyControl, lock};

/// The flows of the present run.
struct Present {
    others: AnyAlgorithm,
    /// The exchanges, by the seeds of the flows.
    exchanges: HashMap<u64, Arc<Mutex<Exchange>>>,
}

/// The algorithm of all runs of an environment, one after the other.
#[derive(Clone)]
pub(crate) struct LearnersAlgorithm {
    present: Arc<Mutex<Present>>,
    control: Control,
}

impl LearnersAlgorithm {
    pub(crate) fn new(control: Control, others: AnyAlgorithm) -> Self {
        let present = Present { others, exchanges: HashMap::new() };
        Self { present: Arc::new(Mutex::new(present)), control }
    }

    /// The algorithm, which is kept for good.
    pub(crate) fn keep(&self) -> Guest {
        Guest::keep(self.clone())
    }

    /// Begins a run with this algorithm for the flows that are not the learner's.
    pub(crate) fn begin(&self, others: AnyAlgorithm) {
        *lock(&self.present) = Present { others, exchanges: HashMap::new() };
    }

    /// Gives the flow whose algorithm is started with `seed` an exchange.
    pub(crate) fn exchange(&self, seed: u64) -> Arc<Mutex<Exchange>> {
        let exchange = Arc::new(Mutex::new(Exchange::default()));
        lock(&self.present).exchanges.insert(seed, Arc::clone(&exchange));
        exchange
    }

    fn others(&self) -> AnyAlgorithm {
        lock(&self.present).others
    }
}

impl GuestAlgorithm for LearnersAlgorithm {
    fn info(&self) -> &'static Info {
        self.others().info()
    }

    fn params(&self) -> &'static [Param] {
        self.others().params()
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        self.others().write(name, out)
    }

    fn needs(&self) -> &'static [Need] {
        self.others().needs()
    }

    fn burst_varies(&self) -> bool {
        self.others().burst_varies()
    }

    fn check(&self) -> Result<(), Conflict> {
        self.others().check()
    }

    fn start(&self, flow: &Flow) -> Box<dyn GuestControl> {
        let present = lock(&self.present);
        match present.exchanges.get(&flow.seed) {
            Some(exchange) => {
                let policy = Policy::Outside(Held::new(exchange));
                Box::new(PolicyControl::new(self.control, policy, flow))
            }
            None => Box::new(present.others.start(flow)),
        }
    }
}
