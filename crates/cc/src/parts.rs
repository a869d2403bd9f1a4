//! What several algorithms and carriers need.

pub mod ewma;
pub mod gradient;
pub mod integer;
pub mod min_filter;
pub mod pacer;
pub mod recovery;
pub mod round;
pub mod switch;
pub mod window;

pub use ewma::Ewma;
pub use gradient::DelayGradient;
pub use min_filter::MinFilter;
pub use pacer::Pacer;
pub use recovery::RecoveryGate;
pub use round::RoundCounter;
pub use switch::Switch;
pub use window::Window;
