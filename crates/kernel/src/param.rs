//! Parameters that only a program has.

use incast_cc::param::SetError;
use incast_cc::units::{Rate, Span};

use crate::ValueError;

/// A parameter that only a program has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParam {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) takes: Takes,
    /// A line of documentation for users.
    pub(crate) doc: &'static str,
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// A rate from 1 Mb/s to 400 Gb/s.
    Rate,
    /// A time from 1 us to 1 s.
    Span,
    /// A time from 1 us to 1 s, or zero.
    SpanOrZero,
    /// A whole number between two bounds.
    Number(u64, u64),
    /// `on` or `off`.
    Switch,
}

impl Takes {
    /// Whether `text` is one of the values.
    ///
    /// # Errors
    /// The reason why it is none.
    pub(crate) fn check(self, text: &str) -> Result<(), ValueError> {
        match self {
            Self::Rate => rate(text).map(|_| ()),
            Self::Span | Self::SpanOrZero => self.span(text).map(|_| ()),
            Self::Number(..) => self.number(text).map(|_| ()),
            Self::Switch if matches!(text, "on" | "off") => Ok(()),
            Self::Switch => Err(ValueError::NotASwitch),
        }
    }

    pub(crate) fn span(self, text: &str) -> Result<Span, ValueError> {
        let span: Span = text.parse().map_err(SetError::Parse)?;
        let none = matches!(self, Self::SpanOrZero) && span.as_ns() == 0;
        if !none && !(Span::from_us(1)..=Span::from_secs(1)).contains(&span) {
            return Err(SetError::OutOfRange("1us to 1s").into());
        }
        Ok(span)
    }

    pub(crate) fn number(self, text: &str) -> Result<u64, ValueError> {
        let Self::Number(least, most) = self else {
            unreachable!("programs ask for a number where they have declared one")
        };
        match text.parse() {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            _ => Err(ValueError::NotANumber { least, most }),
        }
    }
}

pub(crate) fn rate(text: &str) -> Result<Rate, ValueError> {
    let rate: Rate = text.parse().map_err(SetError::Parse)?;
    if !(Rate::from_mbps(1)..=Rate::from_gbps(400)).contains(&rate) {
        return Err(SetError::OutOfRange("1Mbps to 400Gbps").into());
    }
    Ok(rate)
}
