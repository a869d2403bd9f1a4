//! Poisson traffic: flows that arrive at random, by a separate Poisson process at each host.

mod peers;
mod spread;

use incast_cc::Time;
use incast_plan::Plan;
use incast_plan::flows::Operation;
use incast_plan::random::{exponential, mean_gap, purpose};
use incast_plan::topology::Topology;
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Opens, Sent, carried};
use super::checked::{Checked, Counts};
use super::context::{Context, NewFlow};
use super::demand::Demand;
use super::places::Places;
use super::{Destinations, Kind, Settings};
use crate::input::Files;
use crate::{FlowSizes, Scenario};
use peers::Peers;
use spread::Spread;

/// Flows that arrive at random, by a separate Poisson process at each host of `from`. Each flow is
/// one message on a new connection.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// The offered payload, as a share of the capacity of `of`. With a load above 1 queues never
    /// drain.
    pub load: f64,
    /// The links that the load is a share of.
    #[serde(default)]
    pub of: LoadOf,
    /// The sizes of the flows.
    pub sizes: FlowSizes,
    /// The choice of destinations.
    #[serde(default)]
    pub destinations: Destinations,
    /// The share of flows that stay in the rack of their source; as `destinations` chooses if
    /// absent.
    pub rack_local: Option<f64>,
    /// The direction of the payload: to the other end (write), or from there (read).
    #[serde(default)]
    pub operation: Operation,
}

/// The links that a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// The links of the hosts of `from`: each host offers the load times its own rate.
    #[default]
    Hosts,
    /// The links to the highest layer of switches, which carry traffic between parts of the
    /// network: all of them together carry the load. (Flows that do not cross this layer come on
    /// top.)
    Core,
}

impl Settings for Poisson {
    const NAME: &'static str = "poisson";
}

impl Kind for Poisson {
    fn read_files(&mut self, files: &mut Files) -> Result<(), Fault> {
        self.sizes.fill(files, "sizes")
    }

    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        checked.check_load(self.load)?;
        if let Some(local) = self.rack_local {
            checked.in_range("rack_local", local, (0.0, 1.0))?;
        }
        let has_core = checked.net.layers.iter().any(|layer| layer.is_core());
        if self.of == LoadOf::Core && !has_core {
            let message = "this network has no core; expected \"hosts\", or a network of layers";
            return Err(checked.at("of", message.into()));
        }
        let bytes = self.sizes.known().mean();
        let flows = match self.of {
            LoadOf::Hosts => checked.arrivals(self.load, bytes, &checked.from),
            LoadOf::Core => {
                let Some(bps) = self.offered_bps(checked.scenario, checked.net, checked.number)
                else {
                    let message = "none of these flows crosses the core; expected \"hosts\", or \
                                   other destinations";
                    return Err(checked.at("of", message.into()));
                };
                checked.messages(bps, bytes)
            }
        };
        Ok(Counts { connections: flows, messages: flows })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let sizes = self.sizes.known();
        let peers = Peers::new(context, self);
        let (offered, all_bps) = (peers.offered_bps(self), peers.line_bps());
        for source in peers.senders() {
            let mut random = context.generator_of(source, purpose::ARRIVALS);
            let mut deadlines = context.deadlines_of(source);
            let share = context.line_bps(source) / all_bps;
            let gap = mean_gap(sizes.mean(), share, offered);
            let mut at: Time = context.start();
            for before in 0.. {
                at += exponential(&mut random, gap);
                if at >= context.stop() {
                    break;
                }
                let bytes = sizes.sample(&mut random);
                let destination = peers.draw(source, &mut random);
                let flow = context.flow(source, destination, Some(bytes));
                let deadline = deadlines.draw(bytes);
                NewFlow { before, ..flow }.add_single(plan, at, bytes, deadline);
            }
        }
        Some(offered)
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let bps = match self.of {
            LoadOf::Hosts => self.load * links.sends,
            LoadOf::Core => {
                self.offered_bps(links.scenario, links.net, links.number).unwrap_or(0.0)
            }
        };
        let of_host = links.sends / links.hosts.0.max(1) as f64;
        let carried = carried(self.sizes.known(), of_host, links.seconds);
        Sent::messages(bps / 8.0 * links.seconds * carried, None)
    }

    fn opens(&self) -> Opens {
        Opens::ForEachMessage
    }

    fn load(&self) -> Option<f64> {
        Some(self.load)
    }

    fn demand(&self, context: &Context<'_>, demand: &mut Demand) {
        let peers = Peers::new(context, self);
        let wire = context.scenario.transport.wire(self.sizes.known());
        let (offered, all_bps) = (peers.offered_bps(self) * wire, peers.line_bps());
        let mut spread = Spread::new(&peers);
        for source in peers.senders() {
            let bps = offered * context.line_bps(source) / all_bps;
            demand.sends[source as usize] += bps;
            spread.add(source, bps);
        }
        demand.receives = spread.received();
        if self.of == LoadOf::Core {
            demand.core += self.load * wire;
        }
        if self.operation == Operation::Read {
            std::mem::swap(&mut demand.sends, &mut demand.receives);
        }
    }

    fn operation(&self) -> Operation {
        self.operation
    }
}

impl Poisson {
    /// The payload that all flows offer for a load on the core, in bits per second; [`None`] where
    /// no flow crosses the core.
    fn offered_bps(&self, scenario: &Scenario, topology: &Topology, number: usize) -> Option<f64> {
        #[expect(clippy::cast_possible_truncation, reason = "one section of a file each")]
        let number = number as u16;
        let places = Places::new(topology);
        let context = Context::new(scenario, (topology, &places), scenario.run.seed, number);
        let peers = Peers::new(&context, self);
        let crosses = peers.senders().any(|source| peers.crossing(source) > 0.0);
        crosses.then(|| peers.offered_bps(self))
    }
}
