//! The algorithm of a run in which some flows are a learner's: these have a seat each, and the
//! others an ordinary algorithm.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Conflict, Info, Need, Param, SetError};
use incast_cc::{AnyAlgorithm, Flow};

use crate::action::Control;
use crate::pilot::{Held, Pilot, Policy, Seat, lock};

/// The flows of the present run.
struct Present {
    others: AnyAlgorithm,
    /// The seats, by the seeds of the flows.
    seats: HashMap<u64, Arc<Mutex<Seat>>>,
}

/// The algorithm of all runs of an environment, one after the other.
#[derive(Clone)]
pub(crate) struct Pilots {
    present: Arc<Mutex<Present>>,
    control: Control,
}

impl Pilots {
    pub(crate) fn new(control: Control, others: AnyAlgorithm) -> Self {
        let present = Present { others, seats: HashMap::new() };
        Self { present: Arc::new(Mutex::new(present)), control }
    }

    /// The algorithm, which is kept for good.
    pub(crate) fn keep(&self) -> Guest {
        Guest::keep(self.clone())
    }

    /// Begins a run with this algorithm for the flows that are not the learner's.
    pub(crate) fn begin(&self, others: AnyAlgorithm) {
        *lock(&self.present) = Present { others, seats: HashMap::new() };
    }

    /// Gives the flow whose algorithm is started with `seed` a seat.
    pub(crate) fn seat(&self, seed: u64) -> Arc<Mutex<Seat>> {
        let seat = Arc::new(Mutex::new(Seat::default()));
        lock(&self.present).seats.insert(seed, Arc::clone(&seat));
        seat
    }

    fn others(&self) -> AnyAlgorithm {
        lock(&self.present).others
    }
}

impl GuestAlgorithm for Pilots {
    fn info(&self) -> &'static Info {
        self.others().info()
    }

    fn params(&self) -> &'static [Param] {
        self.others().params()
    }

    fn with(&self, _name: &str, _text: &str) -> Result<Guest, SetError> {
        Err(SetError::Unknown)
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
        match present.seats.get(&flow.seed) {
            Some(seat) => {
                let policy = Policy::Outside(Held::new(seat));
                Box::new(Pilot::new(self.control, policy, flow))
            }
            None => Box::new(present.others.start(flow)),
        }
    }
}
