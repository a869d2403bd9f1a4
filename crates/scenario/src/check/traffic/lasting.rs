//! Connections that stay.

use super::{Checked, Counts};
use incast_schema::Fault;

impl Checked<'_> {
    pub(super) fn check_lasting(&self) -> Result<Counts, Fault> {
        let traffic = self.traffic;
        let pairs = match traffic.fan_out {
            None => self.pairs(),
            Some(fan_out) => {
                let most = self.others();
                if fan_out == 0 || fan_out as usize > most {
                    let but = if self.some_at_both_ends() { " but oneself" } else { "" };
                    let message = format!(
                        "{fan_out} is out of range; expected 1 to {most}, the hosts of `to`{but}"
                    );
                    return Err(self.at("fan_out", message));
                }
                self.from.len() as u64 * u64::from(fan_out)
            }
        };
        if traffic.stop.is_some() {
            let message =
                "connections that stay do not stop; take it out, or set message and count";
            return Err(self.at("stop", message.into()));
        }
        if traffic.message.is_none() && traffic.messages() > 1 {
            let message = "messages without end come one by one; set the size of a message".into();
            return Err(self.at("count", message));
        }
        let connections = pairs * u64::from(traffic.connections_per_pair());
        // Zero connections are refused by name, before zero messages.
        let messages = connections.max(1) * u64::from(traffic.messages());
        Ok(Counts { connections, messages })
    }
}
