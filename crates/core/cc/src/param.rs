//! Parameters that can be found, read and set by name.
//!
//! Each algorithm is a struct of documented parameters written inside
//! [`parameters!`](crate::parameters), which derives from the one declaration what the command line
//! lists, what a scenario may set, and what a test checks. Values travel as text with units, the
//! way people write them.

use core::fmt;

use crate::caution::{Caution, PathFacts};
use crate::units::{Bytes, Fraction, ParseError, Rate, Span};

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name of the parameter and of its field.
    pub name: &'static str,
    /// The explanation, a paragraph.
    pub doc: &'static str,
    /// The form of a value: "time", "rate", "number", ...
    pub unit: &'static str,
    /// The source of the default.
    pub source: &'static str,
    /// The values that are accepted, as text: "0 to 1", or words; empty when every value is.
    pub range: &'static str,
}

/// A published set of values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// The source of the values.
    pub source: &'static str,
    /// The values that differ from the defaults.
    pub values: &'static [(&'static str, &'static str)],
}

/// The description of an algorithm, in a few words each.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name by which it is found.
    pub name: &'static str,
    /// The effect on the rate or the window, on one line.
    pub summary: &'static str,
    /// The quantity that the algorithm controls.
    pub kind: Kind,
    /// The signal of congestion.
    pub signal: &'static str,
    /// The needs of the network.
    pub needs: &'static [Need],
    /// The transport that the algorithm was made for. The table of all algorithms runs it there.
    pub transport: Transport,
    /// The publication.
    pub source: &'static str,
}

/// The transports of a flow's data: `incast-transport` has a module for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Messages in segments of up to 64 KB, as RDMA NICs send them.
    #[default]
    Message,
    /// A byte stream in packets of one MSS, as in TCP.
    Stream,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 2] = [Self::Message, Self::Stream];

    /// The word that scenarios use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Message => "message",
        }
    }
}

/// The quantities that algorithms control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pacing rate.
    Rate,
    /// A congestion window.
    Window,
    /// A rate or window, from what switches report.
    Telemetry,
    /// No control: sends as fast as it is told.
    Fixed,
}

impl Kind {
    /// The word of lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Window => "window",
            Self::Telemetry => "telemetry",
            Self::Fixed => "fixed",
        }
    }
}

/// The needs of an algorithm, without which it runs but cannot do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Switches that mark packets (ECN), and an exact echo of the marks.
    Ecn,
    /// Receivers that answer marked packets with notifications (the CNPs of DCQCN).
    Notifications,
    /// Switches that stamp their state into packets (INT).
    Telemetry,
    /// Switches that lose nothing (PFC).
    Lossless,
    /// Receivers that acknowledge each packet: a window below two packets, or what each tells,
    /// waits for no delayed ACK.
    EachAcknowledged,
    /// Messages that have a deadline, of which the sender knows.
    Deadlines,
    /// Ports with so many traffic classes for data: the algorithm chooses the class of each packet.
    Classes(u8),
    /// Ports that serve the packet of which least remains (the discipline `srpt`).
    RemainingFirst,
    /// Ports that answer senders in this language, a kind of `switch.feedback`.
    Feedback(&'static str),
    /// Switches that mark by a phantom queue, before there is a real one.
    PhantomQueue,
}

impl Need {
    /// Whether switches must do more for it than queue, pause and mark.
    pub const fn is_of_switches(self) -> bool {
        matches!(
            self,
            Self::Telemetry | Self::Feedback(_) | Self::Classes(_) | Self::RemainingFirst
        )
    }

    /// The words of lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ecn => "ECN marks",
            Self::Notifications => "CNPs from receivers",
            Self::Telemetry => "INT",
            Self::Lossless => "PFC",
            Self::EachAcknowledged => "an ACK for each packet",
            Self::Deadlines => "deadlines",
            Self::Classes(_) => "traffic classes",
            Self::RemainingFirst => "ports that serve what is nearly done",
            Self::Feedback(_) => "answers of switches",
            Self::PhantomQueue => "phantom queues",
        }
    }
}

/// An algorithm whose parameters can be set by name.
pub trait Configurable: crate::Algorithm + Default {
    /// The description of the algorithm.
    const INFO: Info;
    /// The published sets of values; the first is the default.
    const PRESETS: &'static [Preset];
    /// The parameters of the algorithm.
    const PARAMS: &'static [Param];
    /// Sets the parameter `name` to the value that `text` says.
    ///
    /// # Errors
    /// The parameter does not exist, or the text is no value for it.
    fn set(&mut self, name: &str, text: &str) -> Result<(), SetError>;

    /// Writes the value of the parameter `name`, in the form that [`set`](Self::set) reads.
    ///
    /// # Errors
    /// The parameter does not exist, or `out` failed.
    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Whether the size of bursts changes in the course of a flow with these values. Otherwise the
    /// first [`Limits`](crate::Limits) set it, and bursts of one packet stay so after a change of
    /// the MSS.
    fn burst_varies(&self) -> bool {
        false
    }

    /// The needs that remain with these values.
    fn needs(&self) -> &'static [Need] {
        Self::INFO.needs
    }

    /// Whether the values fit together.
    ///
    /// # Errors
    /// The parameter at fault and why.
    fn check(&self) -> Result<(), Conflict> {
        Ok(())
    }

    /// Calls `emit` with each reason why a flow with these values cannot have its share of `path`.
    fn cautions(&self, _path: &PathFacts, _emit: &mut dyn FnMut(Caution)) {}
}

/// Why a parameter was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// The algorithm has no such parameter.
    Unknown,
    /// The text is no such quantity.
    Parse(ParseError),
    /// The text is not one of the words that are accepted.
    NotOneOf(&'static str),
    /// The value is outside this range.
    OutOfRange(&'static str),
}

impl From<ParseError> for SetError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("is not a parameter"),
            Self::Parse(error) => error.fmt(f),
            Self::NotOneOf(words) => write!(f, "is not one of {words}"),
            Self::OutOfRange(range) => write!(f, "is out of range; expected {range}"),
        }
    }
}

impl core::error::Error for SetError {}

/// Two parameters contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The parameter at fault.
    pub name: &'static str,
    /// The rule that it breaks: "must not be above".
    pub rule: &'static str,
    /// The parameter that it contradicts.
    pub other: &'static str,
}

/// A type that a parameter can have.
pub trait Value: Sized + fmt::Display {
    /// The form of a value.
    const UNIT: &'static str;
    /// The words that are accepted, where they are words.
    const WORDS: &'static str = "";
    /// Reads a value.
    ///
    /// # Errors
    /// The text is no such value.
    fn read(text: &str) -> Result<Self, SetError>;
}

macro_rules! quantity {
    ($($unit:ty = $word:literal),*) => {$(
        impl Value for $unit {
            const UNIT: &'static str = $word;
            fn read(text: &str) -> Result<Self, SetError> { Ok(text.parse()?) }
        }
    )*};
}
quantity!(Span = "time", Rate = "rate", Bytes = "size", Fraction = "number");

/// The rate within a burst: a rate, or line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct BurstRate(pub Rate);

impl BurstRate {
    /// Line rate: as fast as the NIC can.
    pub const LINE: Self = Self(Rate::MAX);
}

impl fmt::Display for BurstRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::LINE { f.write_str("line-rate") } else { self.0.fmt(f) }
    }
}

impl Value for BurstRate {
    const UNIT: &'static str = "rate or \"line-rate\"";
    fn read(text: &str) -> Result<Self, SetError> {
        if text.trim() == "line-rate" { Ok(Self::LINE) } else { Ok(Self(text.parse()?)) }
    }
}

impl Value for u32 {
    const UNIT: &'static str = "count";
    fn read(text: &str) -> Result<Self, SetError> {
        text.trim()
            .parse()
            .map_err(|_| SetError::NotOneOf("the whole numbers from 0 to 4294967295"))
    }
}

/// Declares an enum whose variants are chosen by word.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)+ })
            }
        }

        impl $crate::param::Value for $name {
            const UNIT: &'static str = "word";
            const WORDS: &'static str = $crate::words!(@list $($word),+);
            fn read(text: &str) -> Result<Self, $crate::param::SetError> {
                match text.trim() {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::param::SetError::NotOneOf(<Self as $crate::param::Value>::WORDS)),
                }
            }
        }
    };
    (@list $first:literal $(, $more:literal)*) => { concat!($first $(, ", ", $more)*) };
}

/// Declares an algorithm's parameters: a struct with public fields, its `Default`, the table
/// [`Configurable::PARAMS`], and functions by name that a `Configurable` implementation calls.
///
/// A field reads `/// what it is` `pub name: Type = default, "source";` with an optional
/// `in low, high` before the source.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident : $type:ty = $default:expr
                    $(, in $low:literal to $high:literal)?
                    , source $source:expr;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self { Self { $($field: $default,)* } }
        }

        impl $name {
            const PARAM_TABLE: &'static [$crate::param::Param] = &[
                $($crate::param::Param {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    unit: <$type as $crate::param::Value>::UNIT,
                    source: $source,
                    range: {
                        let range = concat!($($low, " to ", $high)?);
                        if range.is_empty() { <$type as $crate::param::Value>::WORDS } else { range }
                    },
                },)*
            ];

            fn set_by_name(&mut self, name: &str, text: &str) -> Result<(), $crate::param::SetError> {
                match name {
                    $(stringify!($field) => {
                        let value = <$type as $crate::param::Value>::read(text)?;
                        $(
                            let outside = <$type as $crate::param::Value>::read($low)
                                .is_ok_and(|low| value < low)
                                || <$type as $crate::param::Value>::read($high)
                                    .is_ok_and(|high| value > high);
                            if outside {
                                return Err($crate::param::SetError::OutOfRange(
                                    concat!($low, " to ", $high),
                                ));
                            }
                        )?
                        self.$field = value;
                        Ok(())
                    })*
                    _ => Err($crate::param::SetError::Unknown),
                }
            }

            fn write_by_name(&self, name: &str, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
                match name {
                    $(stringify!($field) => write!(out, "{}", self.$field),)*
                    _ => Err(core::fmt::Error),
                }
            }
        }
    };
}

/// The three functions by name of a [`Configurable`] whose struct was declared by
/// [`parameters!`](crate::parameters).
#[macro_export]
macro_rules! configurable_by_name {
    () => {
        const PARAMS: &'static [$crate::param::Param] = Self::PARAM_TABLE;

        fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::param::SetError> {
            self.set_by_name(name, text)
        }

        fn write(&self, name: &str, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
            self.write_by_name(name, out)
        }
    };
}
