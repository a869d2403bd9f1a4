//! Parameters of algorithms that are written in Python.

use incast_cc::param::{Param, SetError, Value as _};
use incast_cc::{Bytes, Rate, Span};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::ParameterError;

/// The value of a parameter: seconds, bits per second, bytes, a number, a count, or a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Time(Span),
    Rate(Rate),
    Size(Bytes),
    Number(f64),
    Count(i64),
    Word(&'static str),
}

impl Value {
    /// The value in the unit in which Python has it.
    pub(super) fn to_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Time(span) => span.as_secs_f64().into_py_any(py),
            Self::Rate(rate) => (rate.as_bps() as f64).into_py_any(py),
            Self::Size(bytes) => bytes.get().into_py_any(py),
            Self::Number(number) => number.into_py_any(py),
            Self::Count(count) => count.into_py_any(py),
            Self::Word(word) => word.into_py_any(py),
        }
    }

    fn number(self) -> f64 {
        match self {
            Self::Time(span) => span.as_secs_f64(),
            Self::Rate(rate) => rate.as_bps() as f64,
            Self::Size(bytes) => bytes.get() as f64,
            Self::Number(number) => number,
            Self::Count(count) => count as f64,
            Self::Word(_) => f64::NAN,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(span) => span.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Size(bytes) => bytes.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// The kinds of values, by the words that Python has for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Size,
    Number,
    Count,
    Word,
}

/// A parameter of an algorithm in Python, which `incast.parameter` declares.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Declared {
    pub(super) param: Param,
    kind: Kind,
    words: &'static [&'static str],
    least: Option<Value>,
    most: Option<Value>,
    pub(super) default: Value,
}

#[pymethods]
impl Declared {
    /// Declares a parameter; `kind` is time, rate, size, number, count or word.
    ///
    /// `least` and `most` are inclusive, and `words` are the values of a word. Raises
    /// `ParameterError` where a text is no such value, or the default is out of range.
    #[new]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "they are keywords in Python, and PyO3 extracts a list by value"
    )]
    #[pyo3(signature = (name, kind, default, *, doc, source, least = None, most = None, words = Vec::new()))]
    fn new(
        name: &str,
        kind: &str,
        default: &str,
        doc: &str,
        source: &str,
        least: Option<&str>,
        most: Option<&str>,
        words: Vec<String>,
    ) -> PyResult<Self> {
        let (kind, unit) = match kind {
            "time" => (Kind::Time, Span::UNIT),
            "rate" => (Kind::Rate, Rate::UNIT),
            "size" => (Kind::Size, Bytes::UNIT),
            "number" => (Kind::Number, "number"),
            "count" => (Kind::Count, "count"),
            "word" => (Kind::Word, "word"),
            _ => return Err(ParameterError::new_err(format!("{kind}: no kind of a parameter"))),
        };
        let range = match (least, most) {
            _ if !words.is_empty() => kept(&words.join(", ")),
            (Some(least), Some(most)) => kept(&format!("{least} to {most}")),
            (Some(least), None) => kept(&format!("{least} or more")),
            (None, Some(most)) => kept(&format!("{most} or less")),
            (None, None) => "",
        };
        let param = Param { name: kept(name), doc: kept(doc), unit, source: kept(source), range };
        let words = words.iter().map(|word| kept(word)).collect::<Vec<_>>().leak();
        let default_text = default;
        let mut declared =
            Self { param, kind, words, least: None, most: None, default: Value::Count(0) };
        let read = |declared: &Self, text: &str| {
            let wrong = |error| ParameterError::new_err(format!("{name} = {text:?} {error}"));
            declared.value(text).map_err(wrong)
        };
        let least = least.map(|text| read(&declared, text)).transpose()?;
        let most = most.map(|text| read(&declared, text)).transpose()?;
        (declared.least, declared.most) = (least, most);
        declared.default = read(&declared, default_text)?;
        Ok(declared)
    }

    /// The name of the parameter.
    #[getter]
    fn name(&self) -> &'static str {
        self.param.name
    }

    /// The value of a text such as `50us`: a number in its unit, or a word.
    ///
    /// Times are in seconds, rates in bits per second, sizes in bytes. Raises `ParameterError` with
    /// the mistake and what is expected.
    fn read(&self, py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
        let wrong =
            |error| ParameterError::new_err(format!("{} = {text:?} {error}", self.param.name));
        self.value(text).map_err(wrong)?.to_python(py)
    }

    /// The value of a text, as it is written in schemes. Raises `ParameterError`.
    fn canonical(&self, text: &str) -> PyResult<String> {
        let wrong =
            |error| ParameterError::new_err(format!("{} = {text:?} {error}", self.param.name));
        Ok(self.value(text).map_err(wrong)?.to_string())
    }
}

impl Declared {
    /// The eight bytes of a value: seconds, bits per second and numbers as a float, sizes and
    /// counts as an integer, a word as its place among the words.
    pub(super) fn word(&self, value: Value) -> u64 {
        let place = |word| self.words.iter().position(|&one| one == word).unwrap_or_default();
        match value {
            Value::Time(_) | Value::Rate(_) | Value::Number(_) => value.number().to_bits(),
            Value::Size(bytes) => bytes.get(),
            Value::Count(count) => count.cast_unsigned(),
            Value::Word(word) => place(word) as u64,
        }
    }

    /// The value of a text, within the range.
    pub(super) fn value(&self, text: &str) -> Result<Value, SetError> {
        let text = text.trim();
        let value = match self.kind {
            Kind::Time => Value::Time(Span::read(text)?),
            Kind::Rate => Value::Rate(Rate::read(text)?),
            Kind::Size => Value::Size(Bytes::read(text)?),
            Kind::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Number(number),
                _ => return Err(SetError::NotOneOf("the numbers")),
            },
            Kind::Count => {
                let count = text.parse().map_err(|_| SetError::NotOneOf("the whole numbers"))?;
                Value::Count(count)
            }
            Kind::Word => {
                let word = self.words.iter().find(|&&word| word == text);
                Value::Word(word.ok_or(SetError::NotOneOf(self.param.range))?)
            }
        };
        let below = self.least.is_some_and(|least| value.number() < least.number());
        let above = self.most.is_some_and(|most| value.number() > most.number());
        if below || above { Err(SetError::OutOfRange(self.param.range)) } else { Ok(value) }
    }
}

/// A text for as long as the process lives: algorithms are described by such.
pub(super) fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
