//! Settings that work against each other, whatever the algorithm.

use crate::Scenario;

impl Scenario {
    /// Settings of switches that work against each other, one sentence each.
    pub fn setting_warnings(&self) -> Vec<String> {
        let classes = self.classes(self.transport.kind);
        let dropped: Vec<_> = classes.iter().filter(|class| !class.protected).collect();
        let Some(limit) = self.switch.port_limit else { return Vec::new() };
        if dropped.is_empty() || dropped.len() == classes.len() {
            return Vec::new();
        }
        let names: Vec<_> = dropped.iter().map(|class| class.name.as_str()).collect();
        let of_acks = self.ack_class(self.transport.kind).is_some();
        vec![format!(
            "switch.port_limit = {limit} counts what PFC protects, too, so a port whose queue is longer drops all \
             that comes in class {}{}; take it out: switch.queue_limit bounds that class alone",
            names.join(", "),
            if of_acks { ", and with it ACKs" } else { "" },
        )]
    }
}
