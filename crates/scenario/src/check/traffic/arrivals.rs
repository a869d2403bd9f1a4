//! Traffic that arrives.

use super::{Checked, Counts};
use crate::plan::{fewest_farthest, offered_bps};
use crate::{Collective, Destinations, FanOut, Incast, LoadOf, Poisson, Requests};
use incast_schema::Fault;

/// Loads above 1 are allowed, for those who want to see what happens.
const MAX_LOAD: f64 = 100.0;
const MAX_OUTSTANDING: u32 = 100_000;

/// How many servers a client has at least, of those clients that have any.
struct Servers {
    fewest: u32,
    whose: Whose,
}

/// Which servers a client has.
enum Whose {
    /// All, but for itself.
    All,
    /// The servers farthest away, for the client that has the fewest.
    Farthest(u32),
    /// A server that no other client has.
    Partner,
}

impl Servers {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    fn of(checked: &Checked<'_>, requests: &Requests) -> Self {
        let (fewest, whose) = match requests.destinations {
            Destinations::Uniform => (checked.others(), Whose::All),
            Destinations::Permutation => (checked.others().min(1), Whose::Partner),
            Destinations::Farthest => {
                match fewest_farthest(checked.net, &checked.from, &checked.to) {
                    Some((fewest, client)) => (fewest, Whose::Farthest(client)),
                    None => (checked.others(), Whose::All),
                }
            }
        };
        Self { fewest: fewest as u32, whose }
    }
}

impl Checked<'_> {
    pub(super) fn check_poisson(&self, poisson: &Poisson) -> Result<Counts, Fault> {
        self.check_load("poisson", poisson.load)?;
        if let Some(local) = poisson.rack_local {
            self.in_range(("poisson", "rack_local"), local, (0.0, 1.0))?;
        }
        if poisson.of == LoadOf::Core && !self.has_core() {
            let message = "this network has no core; expected \"hosts\", or a network of layers";
            return Err(self.within("poisson", "of", message.into()));
        }
        let bytes = poisson.sizes.known().mean();
        let flows = match poisson.of {
            LoadOf::Hosts => self.arrivals(poisson.load, bytes, &self.from),
            LoadOf::Core => {
                let offered = offered_bps(self.scenario, self.net, self.number, poisson);
                let Some(bps) = offered else {
                    let message = "none of these flows crosses the core; expected \"hosts\", or other \
                                   destinations";
                    return Err(self.within("poisson", "of", message.into()));
                };
                self.messages(bps, bytes)
            }
        };
        Ok(Counts { connections: flows, messages: flows })
    }

    pub(super) fn check_incast(&self, incast: &Incast) -> Result<Counts, Fault> {
        self.check_load("incast", incast.load)?;
        // A receiver that could be a sender too is none of its own.
        let itself = self.some_at_both_ends();
        let most = self.from.len() - usize::from(itself);
        if incast.senders == 0 || incast.senders as usize > most {
            let but = if itself { " but the receiver" } else { "" };
            let message = format!(
                "{} is out of range; expected 1 to {most}, the hosts of `from`{but}",
                incast.senders
            );
            return Err(self.within("incast", "senders", message));
        }
        let flows = self.arrivals(incast.load, incast.size.get() as f64, &self.to);
        Ok(Counts { connections: flows, messages: flows })
    }

    pub(super) fn check_requests(&self, requests: &Requests) -> Result<Counts, Fault> {
        const KIND: &str = "requests";
        if let Some(load) = requests.load {
            self.check_load(KIND, load)?;
            let closed = [
                ("outstanding", requests.outstanding.is_some()),
                ("think_time", !requests.think_time.is_zero()),
            ];
            if let Some((field, _)) = closed.iter().find(|(_, set)| *set) {
                let message = format!("a load is an open loop, {field} a closed one; take one out");
                return Err(self.within(KIND, field, message));
            }
        }
        let outstanding = requests.outstanding.unwrap_or(1);
        self.in_range((KIND, "outstanding"), outstanding, (1, MAX_OUTSTANDING))?;
        self.in_range((KIND, "reads"), requests.reads, (0.0, 1.0))?;
        let servers = Servers::of(self, requests);
        self.check_servers("replicas", requests.replicas, &servers)?;
        if let FanOut::Weighted(options) = &requests.fan_out
            && (options.is_empty()
                || options.iter().any(|&(_, weight)| !weight.is_finite() || weight <= 0.0))
        {
            let message = "expected a number, or pairs of a number and a weight above 0";
            return Err(self.within(KIND, "fan_out", message.into()));
        }
        for (fan_out, _) in requests.fan_out.options() {
            self.check_servers("fan_out", fan_out, &servers)?;
        }
        let urgent = if self.traffic.urgent.is_some() { 2 } else { 1 };
        let kinds = u64::from(requests.reads > 0.0) * 2 + u64::from(requests.reads < 1.0);
        let pairs = match requests.destinations {
            Destinations::Permutation => self.from.len() as u64,
            Destinations::Uniform | Destinations::Farthest => self.pairs(),
        };
        let connections = pairs * u64::from(self.traffic.connections_per_pair()) * kinds * urgent;
        let mean = requests.sizes.known().mean();
        let messages = requests.load.map_or(1, |load| self.arrivals(load, mean, &self.from));
        Ok(Counts { connections, messages })
    }

    fn check_servers(&self, field: &str, value: u32, servers: &Servers) -> Result<(), Fault> {
        let most = servers.fewest;
        if (1..=most).contains(&value) {
            return Ok(());
        }
        let whose = match servers.whose {
            Whose::All => String::new(),
            Whose::Farthest(from) => {
                format!(", the servers farthest from {}", self.net.hosts[from as usize])
            }
            Whose::Partner => ", the server that a permutation gives each client".into(),
        };
        let message = format!("{value} is out of range; expected 1 to {most}{whose}");
        Err(self.within("requests", field, message))
    }

    pub(super) fn check_collective(&self, collective: &Collective) -> Result<Counts, Fault> {
        if self.from.len() < 2 {
            let message = "a collective of one host; expected a group of at least two".into();
            return Err(self.at("from", message));
        }
        self.in_range(("collective", "rounds"), collective.rounds, (1, 1_000_000))?;
        let members = self.from.len() as u64;
        let messages = members * 2 * (members - 1) * u64::from(collective.rounds);
        Ok(Counts { connections: members, messages })
    }

    fn check_load(&self, kind: &str, load: f64) -> Result<(), Fault> {
        if load > 0.0 && load <= MAX_LOAD {
            return Ok(());
        }
        let message = format!(
            "{load} is out of range; expected above 0, up to {MAX_LOAD}, as a share of the links"
        );
        Err(self.within(kind, "load", message))
    }

    /// Messages of `bytes` on average that come in the time there is, at least one.
    fn arrivals(&self, load: f64, bytes: f64, hosts: &[u32]) -> u64 {
        let ports = self.net.ports();
        let rate =
            |&host: &u32| self.net.cables[ports.hosts[host as usize][0].0].rate.as_bps() as f64;
        self.messages(load * hosts.iter().map(rate).sum::<f64>(), bytes)
    }

    /// Messages of `bytes` on average that offer so many bits per second in the time there is.
    fn messages(&self, bps: f64, bytes: f64) -> u64 {
        let seconds = self.scenario.run.duration.as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let arrivals = (bps * seconds / (8.0 * bytes)) as u64;
        arrivals.max(1)
    }

    fn has_core(&self) -> bool {
        self.net.layers.iter().any(|layer| layer.is_core())
    }
}
