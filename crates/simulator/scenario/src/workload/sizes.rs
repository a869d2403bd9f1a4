//! The distributions that a simulation draws sizes from.

use std::sync::Arc;

use incast_cc::Bytes;
use rand_core::Rng;

use super::{SizeTable, unit_interval, whole_bytes};

/// A distribution of sizes. A sample takes one random number, or none for [`Sizes::Fixed`].
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// The points of a measured distribution.
    Table(Arc<SizeTable>),
    /// A fixed size.
    Fixed(Bytes),
    /// All sizes of a range, equally likely.
    Uniform(Uniform),
    /// Exponentially distributed sizes.
    Exponential(Exponential),
    /// Many small sizes and a few very large ones.
    Pareto(Pareto),
}

impl Sizes {
    /// Draws a size of at least one byte.
    pub fn sample(&self, random: &mut impl Rng) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            _ => self.at(random.next_u64()),
        }
    }

    /// The size that is drawn by these random bits.
    fn at(&self, random: u64) -> Bytes {
        match self {
            Self::Table(table) => whole_bytes(table.quantile(unit_interval(random))),
            Self::Fixed(size) => *size,
            Self::Uniform(uniform) => uniform.at(random),
            Self::Exponential(exponential) => exponential.at(random),
            Self::Pareto(pareto) => pareto.at(random),
        }
    }

    /// The mean number of packets with this payload each, the last one of a message shorter.
    pub fn packets(&self, payload: Bytes) -> f64 {
        /// Sizes that are looked at, each as likely.
        const SIZES: u64 = 1_024;
        let payload = payload.max(Bytes::new(1)).get();
        // The room that the last packet leaves is at most a packet, so that few sizes tell its mean.
        let room = |size: Bytes| size.get().div_ceil(payload) * payload - size.get();
        let step = u64::MAX / SIZES;
        let rooms: u64 = (0..SIZES).map(|place| room(self.at(place * step + step / 2))).sum();
        (self.mean() + rooms as f64 / SIZES as f64) / payload as f64
    }

    /// The mean in bytes, before samples are rounded to whole bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Table(table) => table.mean(),
            Self::Fixed(size) => size.get() as f64,
            Self::Uniform(Uniform { low, high }) => {
                f64::midpoint(low.get() as f64, high.get() as f64)
            }
            Self::Exponential(Exponential { mean }) => mean.get() as f64,
            Self::Pareto(pareto) => pareto.mean(),
        }
    }
}

/// Parameters that do not give a distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizesError {
    /// A range whose first size is larger than the second.
    #[error("from {low} to {high} there is no size; expected the smaller one first")]
    Backwards {
        /// The first size.
        low: Bytes,
        /// The second size.
        high: Bytes,
    },
    /// A shape without a mean, or NaN.
    #[error("the shape {0} is out of range; expected above 1, where the mean is finite, up to 100")]
    Shape(f64),
    /// A largest size below the mean.
    #[error("the largest size {max} is not above the mean {mean}; expected a larger one")]
    Max {
        /// The largest size.
        max: Bytes,
        /// The mean.
        mean: Bytes,
    },
}

/// All sizes of a range, equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    low: Bytes,
    high: Bytes,
}

impl Uniform {
    /// Sizes from `low` to `high`, both included.
    ///
    /// # Errors
    /// The first is the larger one.
    pub fn new(low: Bytes, high: Bytes) -> Result<Self, SizesError> {
        if low > high { Err(SizesError::Backwards { low, high }) } else { Ok(Self { low, high }) }
    }

    fn at(self, random: u64) -> Bytes {
        let sizes = u128::from(self.high.get() - self.low.get()) + 1;
        self.low + Bytes::new(((u128::from(random) * sizes) >> 64) as u64)
    }
}

/// Exponentially distributed sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponential {
    mean: Bytes,
}

impl Exponential {
    /// A distribution with this mean.
    pub const fn new(mean: Bytes) -> Self {
        Self { mean }
    }

    fn at(self, random: u64) -> Bytes {
        whole_bytes(-libm::log(unit_interval(random)) * self.mean.get() as f64)
    }
}

/// Pareto's distribution: above its smallest size `low`, a size x is exceeded with probability
/// (low / x)^shape.
///
/// Near shape 1 most of the mean is in flows so rare that no run draws one. A largest size cuts
/// them off: the result is as if sizes were drawn until one does not exceed it. The remaining mean
/// is [`Sizes::mean`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    low: f64,
    shape: f64,
    max: Option<f64>,
    /// The probability of the tail that `max` cuts off.
    cut: f64,
}

impl Pareto {
    /// A distribution with this mean, before it is cut off at `max`.
    ///
    /// # Errors
    /// `shape` is not above 1, or `max` is not above the mean.
    pub fn new(mean: Bytes, shape: f64, max: Option<Bytes>) -> Result<Self, SizesError> {
        if !(shape > 1.0 && shape <= 100.0) {
            return Err(SizesError::Shape(shape));
        }
        if let Some(max) = max.filter(|max| *max <= mean) {
            return Err(SizesError::Max { max, mean });
        }
        let low = mean.get() as f64 * (shape - 1.0) / shape;
        let max = max.map(|max| max.get() as f64);
        let cut = max.map_or(0.0, |max| libm::pow(low / max, shape));
        Ok(Self { low, shape, max, cut })
    }

    fn at(self, random: u64) -> Bytes {
        let exceeded = self.cut + unit_interval(random) * (1.0 - self.cut);
        whole_bytes(self.low * libm::pow(exceeded, -1.0 / self.shape))
    }

    fn mean(self) -> f64 {
        let whole = self.low * self.shape / (self.shape - 1.0);
        let Some(max) = self.max else { return whole };
        whole * (1.0 - libm::pow(self.low / max, self.shape - 1.0)) / (1.0 - self.cut)
    }
}
