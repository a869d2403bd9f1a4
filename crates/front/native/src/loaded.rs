//! The algorithm of a table, as a guest.

use core::error::Error;
use core::ffi::c_void;
use core::fmt::{self, Display, Formatter};

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Conflict, Info, Kind, Need, Param, SetError, Transport, Value};
use incast_cc::{Bytes, Fraction, Rate, Reads, Span, contract};

use crate::control::{Native, NativeControl, Report};
use crate::export::NEEDS;
use crate::table::{Layout, PANICKED, ParamText, Table, Text, set};

/// The mistake of a value that makes a function of the algorithm panic.
const PANICS: SetError = SetError::NotOneOf("the values with which it does not panic");

/// An algorithm of a table, with its parameters.
struct Loaded {
    table: &'static Table,
    info: &'static Info,
    params: &'static [Param],
    native: &'static Native,
    known: Known,
    /// The parameter that was set last; empty where all have their defaults.
    last: &'static str,
}

/// The answers of an algorithm that depend on its parameters alone.
#[derive(Clone, Copy)]
struct Known {
    needs: &'static [Need],
    burst_varies: bool,
}

impl Known {
    /// The answers; the name of the function that panics instead of giving one.
    fn of(table: &Table, parameters: *const c_void) -> Result<Self, &'static str> {
        // SAFETY: functions of the table, with its parameters.
        let (bits, varies) =
            unsafe { ((table.needs)(parameters), (table.burst_varies)(parameters)) };
        if bits == PANICKED {
            return Err("needs");
        }
        if varies < 0 {
            return Err("burst_varies");
        }
        let each = NEEDS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let needs = each.map(|(_, &need)| need).collect::<Vec<_>>().leak();
        Ok(Self { needs, burst_varies: varies != 0 })
    }
}

/// A table that is no algorithm here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The table has the interface of another version.
    Interface {
        /// The version.
        version: u64,
        /// The size of a table there, in bytes.
        bytes: u64,
    },
    /// A word that this version does not know.
    Word {
        /// The name of the field.
        field: &'static str,
        /// The word.
        word: &'static str,
    },
    /// A function that panics with the default parameters.
    Panics(&'static str),
}

impl Display for LoadError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface { version, bytes } => write!(
                f,
                "built with another version of incast-native: its interface is {version} of \
                 {bytes} B, this incast has {} of {} B; build it with the sources of incast {}",
                Layout::OURS.version,
                Layout::OURS.table,
                env!("CARGO_PKG_VERSION"),
            ),
            Self::Word { field, word } => write!(f, "{field} = {word:?}"),
            Self::Panics(function) => {
                write!(f, "its {function} panics with the default parameters")
            }
        }
    }
}

impl Error for LoadError {}

/// The algorithm of a table.
///
/// # Errors
/// The table has the interface of another version, a word that this one does not know, or
/// functions that panic.
///
/// # Safety
/// The table was made by [`export`](crate::export) of some version, and stays with all that it
/// points to for as long as the process lives.
pub unsafe fn load(table: *const Table, report: Report) -> Result<Guest, LoadError> {
    // SAFETY: the first part is the same in all versions.
    let layout = unsafe { table.cast::<Layout>().read() };
    if layout != Layout::OURS {
        return Err(LoadError::Interface { version: layout.version, bytes: layout.table });
    }
    // SAFETY: the table has the layout of ours, and stays.
    let table: &'static Table = unsafe { &*table };
    // SAFETY: texts of a table stay, as the table.
    let text = |text: Text| -> &'static str { unsafe { text.get() } };
    let kinds = [Kind::Rate, Kind::Window, Kind::Telemetry, Kind::Fixed];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == text(table.kind));
    let transport = Transport::ALL.into_iter().find(|one| one.as_str() == text(table.transport));
    // SAFETY: the table has so many parameters.
    let params = unsafe { core::slice::from_raw_parts(table.params, table.param_count) };
    let param = |one: &ParamText| Param {
        name: text(one.name),
        doc: text(one.doc),
        unit: text(one.unit),
        source: text(one.source),
        range: text(one.range),
    };
    // SAFETY: a function of the table.
    let parameters = unsafe { (table.defaults)() };
    if parameters.is_null() {
        return Err(LoadError::Panics("default"));
    }
    let known = Known::of(table, parameters).map_err(LoadError::Panics)?;
    let mut found = [Text::EMPTY; 3];
    // SAFETY: as above, with a place for the answer.
    if unsafe { (table.conflict)(parameters, &raw mut found) } < 0 {
        return Err(LoadError::Panics("check"));
    }
    let info = Info {
        name: text(table.name),
        summary: text(table.summary),
        kind: kind.ok_or(LoadError::Word { field: "kind", word: text(table.kind) })?,
        signal: text(table.signal),
        needs: known.needs,
        transport: transport
            .ok_or(LoadError::Word { field: "transport", word: text(table.transport) })?,
        source: text(table.source),
    };
    let native = Native {
        name: info.name,
        calls: table.calls,
        parameters,
        state_size: table.state_size,
        gauge_names: &[],
        reads: Reads::NONE,
        report,
    };
    Ok(Guest::keep(Loaded {
        table,
        info: Box::leak(Box::new(info)),
        params: params.iter().map(param).collect::<Vec<_>>().leak(),
        native: Box::leak(Box::new(native)),
        known,
        last: "",
    }))
}

/// The mistake of a text that has no value in a unit.
fn no_value(unit: &'static str, text: &str) -> SetError {
    let read = match unit {
        "time" => Span::read(text).err(),
        "rate" => Rate::read(text).err(),
        "size" => Bytes::read(text).err(),
        "number" => Fraction::read(text).err(),
        _ => None,
    };
    read.unwrap_or(SetError::NotOneOf(unit))
}

impl GuestAlgorithm for Loaded {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn with(&self, name: &str, text: &str) -> Result<Guest, SetError> {
        let param = self.params.iter().find(|param| param.name == name);
        let param = param.ok_or(SetError::Unknown)?;
        let mut message = Text::EMPTY;
        // SAFETY: a function of the table, with its parameters.
        let parameters = unsafe { (self.table.copy)(self.native.parameters) };
        if parameters.is_null() {
            return Err(PANICS);
        }
        let (called, said) = (Text::lent(name), Text::lent(text));
        // SAFETY: as above, with texts that stay for the call.
        let result = unsafe { (self.table.set)(parameters, called, said, &raw mut message) };
        // SAFETY: the message is a text of the table.
        let message = unsafe { message.get() };
        match result {
            set::DONE => {
                let known = Known::of(self.table, parameters).map_err(|_| PANICS)?;
                let native = Box::leak(Box::new(Native { parameters, ..*self.native }));
                Ok(Guest::keep(Self { native, known, last: param.name, ..*self }))
            }
            set::UNKNOWN => Err(SetError::Unknown),
            set::OUT_OF_RANGE => Err(SetError::OutOfRange(message)),
            set::NO_VALUE => Err(no_value(param.unit, text)),
            set::PANIC => Err(PANICS),
            _ => Err(SetError::NotOneOf(message)),
        }
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut bytes = [0; 256];
        let (name, parameters) = (Text::lent(name), self.native.parameters);
        // SAFETY: a function of the table, with its parameters; the bytes are there for the call.
        let length =
            unsafe { (self.table.write)(parameters, name, bytes.as_mut_ptr(), bytes.len()) };
        let written = usize::try_from(length).ok().and_then(|length| bytes.get(..length));
        let written = written.and_then(|written| core::str::from_utf8(written).ok());
        out.write_str(written.ok_or(fmt::Error)?)
    }

    fn needs(&self) -> &'static [Need] {
        self.known.needs
    }

    fn burst_varies(&self) -> bool {
        self.known.burst_varies
    }

    fn check(&self) -> Result<(), Conflict> {
        let mut found = [Text::EMPTY; 3];
        // SAFETY: a function of the table, with its parameters.
        let result = unsafe { (self.table.conflict)(self.native.parameters, &raw mut found) };
        if result == 0 {
            return Ok(());
        }
        if result < 0 {
            // The defaults did not panic, so a parameter was set.
            let other = self.params.iter().map(|param| param.name).find(|&name| name != self.last);
            let rule = "makes the algorithm's own check panic, perhaps with";
            return Err(Conflict { name: self.last, rule, other: other.unwrap_or(self.last) });
        }
        // SAFETY: texts of the table.
        let [name, rule, other] = found.map(|text| unsafe { text.get() });
        Err(Conflict { name, rule, other })
    }

    fn start(&self, flow: &contract::Flow) -> Box<dyn GuestControl> {
        // SAFETY: the functions were made by `export`, for parameters and a state like these; its
        // types let flows go to other threads.
        Box::new(unsafe { NativeControl::start(self.native, flow) })
    }
}
