//! A decision tree as an algorithm.

use std::sync::Arc;

use incast_cc::Flow;
use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Info, Kind, Transport};
use incast_sim::scenario::guests;

use crate::observation::WIDTH;
use crate::policy_control::{Policy, PolicyControl};
use crate::tree::{Tree, TreeError};

/// A tree as an algorithm.
struct TreeAlgorithm {
    info: &'static Info,
    tree: Arc<Tree>,
}

impl GuestAlgorithm for TreeAlgorithm {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn burst_varies(&self) -> bool {
        false
    }

    fn start(&self, flow: &Flow) -> Box<dyn GuestControl> {
        let first = self.tree.action(&[0.0; WIDTH]);
        let policy = Policy::Tree(Arc::clone(&self.tree), first);
        Box::new(PolicyControl::new(self.tree.control, policy, flow))
    }
}

/// Makes a tree known to all scenarios of this process by this name; replaces a tree that had it.
///
/// # Errors
/// Another algorithm has the name, or the name is empty.
pub fn make_known(name: &str, tree: Tree) -> Result<Guest, TreeError> {
    let info = Box::leak(Box::new(Info {
        name: Box::leak(name.to_owned().into_boxed_str()),
        summary: "the rate is what a decision tree says once per interval",
        kind: Kind::Rate,
        signal: "observations of an interval",
        needs: &[],
        transport: Transport::Message,
        source: "incast.learning.distill",
    }));
    let guest = Guest::keep(TreeAlgorithm { info, tree: Arc::new(tree) });
    guests::make_known(guest)?;
    Ok(guest)
}
