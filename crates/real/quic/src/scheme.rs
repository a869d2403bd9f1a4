//! Controllers of quinn and s2n-quic as schemes of the simulator.
//!
//! A scheme has a name and no parameters. Scenarios know it once it is made known
//! (`incast_scenario::guests::make_known`).
//!
//! ```
//! use incast_quic::{guest, scheme};
//! use quinn_proto::congestion::BbrConfig;
//! use std::sync::Arc;
//!
//! let bbr = Arc::new(BbrConfig::default());
//! let start = move |flow: &_| guest::Guest::new(bbr.clone(), flow);
//! assert_eq!(scheme::of("quinn-bbr", "quinn", start).info().name, "quinn-bbr");
//! ```

use incast_cc::Flow;
use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Info, Kind, Transport};

/// The scheme whose flows `start` makes, with the name by which scenarios ask for it. `source` is
/// the library.
pub fn of<C: GuestControl + 'static>(
    name: &'static str,
    source: &'static str,
    start: impl Fn(&Flow) -> C + Send + Sync + 'static,
) -> Guest {
    let info = Info {
        name,
        summary: "the window is that of a QUIC library's controller",
        kind: Kind::Window,
        signal: "that of the library",
        needs: &[],
        transport: Transport::Stream,
        source,
    };
    // A scheme stays for as long as the process, as guests do.
    let info = Box::leak(Box::new(info));
    Guest::keep(Scheme {
        info,
        start: move |flow: &Flow| -> Box<dyn GuestControl> { Box::new(start(flow)) },
    })
}

struct Scheme<S> {
    info: &'static Info,
    start: S,
}

impl<S: Fn(&Flow) -> Box<dyn GuestControl> + Send + Sync> GuestAlgorithm for Scheme<S> {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn burst_varies(&self) -> bool {
        false
    }

    fn start(&self, flow: &Flow) -> Box<dyn GuestControl> {
        (self.start)(flow)
    }
}
