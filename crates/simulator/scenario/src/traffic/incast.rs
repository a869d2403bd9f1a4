//! Incast: many senders to one receiver at once, again and again.

use incast_cc::{Bytes, Time};
use incast_plan::random::{distinct, exponential, mean_gap, purpose};
use incast_plan::{Gathering, Plan};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Opens, Sent};
use super::checked::{Checked, Counts};
use super::context::{Context, NewFlow};
use super::demand::Demand;
use super::peers::{one_of, skip};
use super::{Kind, Settings};
use crate::workload::Sizes;

/// Many senders, drawn from `from`, send at once to one receiver, drawn from `to`, at random times.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// The offered payload, as a share of the links of all hosts of `to` together.
    pub load: f64,
    /// The number of hosts that send at once.
    pub senders: u32,
    /// The size of each sender's message.
    #[serde(with = "quantity::Size")]
    pub size: Bytes,
}

impl Settings for Incast {
    const NAME: &'static str = "incast";
}

impl Kind for Incast {
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        checked.check_load(self.load)?;
        // A receiver that could also be a sender does not send to itself.
        let itself = checked.some_at_both_ends();
        let most = checked.from.len() - usize::from(itself);
        if self.senders == 0 || self.senders as usize > most {
            let but = if itself { " but the receiver" } else { "" };
            let message = format!(
                "{} is out of range; expected 1 to {most}, the hosts of `from`{but}",
                self.senders
            );
            return Err(checked.at("senders", message));
        }
        let flows = checked.arrivals(self.load, self.size.get() as f64, &checked.to);
        Ok(Counts { connections: flows, messages: flows })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let all_bps: f64 =
            context.destinations.iter().map(|&host| context.incoming_bps(host)).sum();
        let offered = self.load * all_bps;
        let mut random = context.generator(purpose::INCASTS);
        let mut deadlines = context.deadlines();
        let bytes = self.size * u64::from(self.senders);
        let gap = mean_gap(bytes.get() as f64, 1.0, offered);
        let (mut at, mut before): (Time, _) = (context.start(), 0);
        loop {
            at += exponential(&mut random, gap);
            if at >= context.stop() {
                return Some(offered);
            }
            let receiver = one_of(&context.destinations, &mut random);
            // The senders are drawn from all sources except the receiver.
            let own = context.sources.binary_search(&receiver).ok();
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
            let others = (context.sources.len() - usize::from(own.is_some())) as u32;
            let deadline = deadlines.draw_on(context.incoming_bps(receiver), None, bytes);
            let mut flows = 0..0;
            for place in distinct(&mut random, self.senders, others) {
                let sender = context.sources[skip(place as usize, own)];
                let flow = context.flow(sender, receiver, Some(self.size));
                let flow = NewFlow { before, ..flow }.add_single(plan, at, self.size, deadline);
                before += 1;
                flows = if flows.is_empty() { flow..flow + 1 } else { flows.start..flow + 1 };
            }
            let traffic = context.number;
            plan.gatherings.push(Gathering { traffic, receiver, at, flows, bytes, deadline });
        }
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let bytes = self.load * links.receives / 8.0 * links.seconds;
        Sent::messages(bytes, Some(bytes / self.size.get().max(1) as f64))
    }

    fn opens(&self) -> Opens {
        Opens::ForEachMessage
    }

    fn load(&self) -> Option<f64> {
        Some(self.load)
    }

    fn demand(&self, context: &Context<'_>, demand: &mut Demand) {
        let all_bps: f64 =
            context.destinations.iter().map(|&host| context.incoming_bps(host)).sum();
        let wire = context.scenario.transport.wire(&Sizes::Fixed(self.size));
        let each = self.load * wire * all_bps / context.destinations.len() as f64;
        // The senders of a receiver are drawn from all other sources with equal probability.
        let mut everybody = 0.0;
        for &receiver in &context.destinations {
            demand.receives[receiver as usize] += each;
            let itself = context.sources.binary_search(&receiver).is_ok();
            let from_each = each / (context.sources.len() - usize::from(itself)) as f64;
            everybody += from_each;
            if itself {
                demand.sends[receiver as usize] -= from_each;
            }
        }
        context.sources.iter().for_each(|&sender| demand.sends[sender as usize] += everybody);
    }
}
