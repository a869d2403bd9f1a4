//! Parameters that only a program has.

use incast_cc::param::SetError;
use incast_cc::units::Rate;

/// A parameter that only a program has: a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParam {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    /// A line of documentation for users.
    pub(crate) doc: &'static str,
}

/// A rate from 1 Mb/s to 400 Gb/s.
///
/// # Errors
/// The reason why it is none.
pub(crate) fn rate(text: &str) -> Result<Rate, SetError> {
    let rate: Rate = text.parse().map_err(SetError::Parse)?;
    if !(Rate::from_mbps(1)..=Rate::from_gbps(400)).contains(&rate) {
        return Err(SetError::OutOfRange("1Mbps to 400Gbps"));
    }
    Ok(rate)
}
