//! Controllers of quinn and s2n-quic as schemes of the simulator.
//!
//! A [`Scheme`] has a name. Scenarios know it once it is kept as a
//! [`Guest`], and made known (`incast_scenario::guests::make_known`). It
//! has no parameters.
//!
//! ```
//! use incast_cc::guest::Guest;
//! use incast_quic::guest;
//! use incast_quic::scheme::Scheme;
//! use quinn_proto::congestion::BbrConfig;
//! use std::sync::Arc;
//!
//! let bbr = Arc::new(BbrConfig::default());
//! let scheme = Scheme::new("quinn-bbr", "quinn", move |flow| {
//!     guest::Guest::new(bbr.clone(), flow)
//! });
//! assert_eq!(Guest::keep(scheme).info().name, "quinn-bbr");
//! ```

use std::fmt;

use incast_cc::Flow;
use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Info, Kind, Param, SetError, Transport};

/// A controller of a QUIC library with the name by which scenarios ask for it.
pub struct Scheme<S> {
    info: &'static Info,
    start: S,
}

impl<S, C> Scheme<S>
where
    S: Fn(&Flow) -> C + Send + Sync + 'static,
    C: GuestControl + 'static,
{
    /// A scheme whose flows `start` makes. `source` is the library.
    pub fn new(name: &'static str, source: &'static str, start: S) -> Self {
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
        Self { info: Box::leak(Box::new(info)), start }
    }
}

impl<S, C> GuestAlgorithm for Scheme<S>
where
    S: Fn(&Flow) -> C + Send + Sync + 'static,
    C: GuestControl + 'static,
{
    fn info(&self) -> &'static Info {
        self.info
    }

    fn params(&self) -> &'static [Param] {
        &[]
    }

    fn with(&self, _name: &str, _text: &str) -> Result<Guest, SetError> {
        Err(SetError::Unknown)
    }

    fn write(&self, _name: &str, _out: &mut dyn fmt::Write) -> fmt::Result {
        Err(fmt::Error)
    }

    fn burst_varies(&self) -> bool {
        false
    }

    fn start(&self, flow: &Flow) -> Box<dyn GuestControl> {
        Box::new((self.start)(flow))
    }
}
