//! Parts that several algorithms and carriers need.

pub mod ewma;
pub mod gradient;
pub mod integer;
pub mod min_filter;
pub mod monitor;
pub mod pacer;
pub mod prober;
pub mod random;
pub mod recovery;
pub mod round;
pub mod search;
pub mod switch;
#[cfg(test)]
pub(crate) mod test_link;
pub mod trials;
pub mod window;
pub mod window_law;

pub use ewma::Ewma;
pub use gradient::DelayGradient;
pub use min_filter::MinFilter;
pub use monitor::{Monitor, Report};
pub use pacer::Pacer;
pub use prober::{Prober, Setup};
pub use random::Random;
pub use recovery::RecoveryGate;
pub use round::RoundCounter;
pub use search::{Phase, Search, SearchControl, SearchLaw};
pub use switch::Switch;
pub use trials::{Trial, Trials};
pub use window::Window;
pub use window_law::{Sign, WindowControl, WindowLaw};
