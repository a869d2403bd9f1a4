//! Distributions given by points: a size and the probability that a flow is no larger.

use std::fmt;

use incast_cc::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::LARGEST;

/// A distribution of sizes, given by points of its cumulative distribution function.
///
/// As text it has one point a line, a size and a probability with space between them; `#` starts a
/// comment. Probabilities are fractions if the last one is 1, and percent if it is 100.
///
/// The first point may have a probability above zero. That share of flows has exactly this size,
/// whatever the interpolation. (Some generators spread these flows from zero to the size. A point
/// `0 0` says that.)
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// The points. Neither coordinate falls from point to point; the last has probability 1.
    points: Vec<Point>,
    interpolation: Interpolation,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    size: f64,
    cumulative: f64,
}

/// The sizes between two points of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// All sizes between two points are equally likely.
    #[default]
    Linear,
    /// Only the size of the upper point occurs: the distribution is discrete.
    Step,
}

impl Interpolation {
    /// The interpolation's name in scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Step => "step",
        }
    }
}

/// The unit of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    #[default]
    Bytes,
    /// Packets with this payload.
    Packets(Bytes),
}

impl SizeTable {
    /// Reads a table; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not a table of sizes.
    pub fn parse(
        text: &str,
        file: &str,
        unit: Unit,
        interpolation: Interpolation,
    ) -> Result<Self, TableError> {
        let scale = match unit {
            Unit::Bytes => 1.0,
            Unit::Packets(payload) => payload.get() as f64,
        };
        let fail =
            |line: usize, problem| TableError { file: file.to_owned(), line: line.max(1), problem };
        let mut points: Vec<Point> = Vec::new();
        let mut last_line = text.lines().count();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default();
            let point = match point(content) {
                Ok(Some(point)) => point,
                Ok(None) => continue,
                Err(problem) => return Err(fail(line, problem)),
            };
            if point.size * scale > LARGEST as f64 {
                return Err(fail(line, TableProblem::TooLarge(point.size * scale)));
            }
            if let Some(problem) = points.last().and_then(|before| falls(before, &point)) {
                return Err(fail(line, problem));
            }
            points.push(point);
            last_line = line;
        }
        let Some(&last) = points.last() else { return Err(fail(last_line, TableProblem::Empty)) };
        let whole = match last.cumulative {
            1.0 | 100.0 => last.cumulative,
            other => return Err(fail(last_line, TableProblem::Incomplete(other))),
        };
        for point in &mut points {
            point.size *= scale;
            point.cumulative /= whole;
        }
        if last.size * scale < 1.0 {
            return Err(fail(last_line, TableProblem::Nothing(last.size * scale)));
        }
        Ok(Self { points, interpolation })
    }

    /// This table with another interpolation.
    #[must_use]
    pub fn with_interpolation(self, interpolation: Interpolation) -> Self {
        Self { interpolation, ..self }
    }

    /// The interpolation between points.
    pub const fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// The points: sizes in bytes, and the probability that a flow is not larger.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (f64, f64)> {
        self.points.iter().map(|point| (point.size, point.cumulative))
    }

    /// The size in bytes that the fraction `probability` of all flows does not exceed, before
    /// rounding to whole bytes. Above 0; from 1 on it is the largest size.
    pub fn quantile(&self, probability: f64) -> f64 {
        let above = self.points.partition_point(|point| point.cumulative < probability);
        let Some(&upper) = self.points.get(above) else { return self.largest() };
        let lower = match (above.checked_sub(1), self.interpolation) {
            (Some(below), Interpolation::Linear) => self.points[below],
            _ => return upper.size,
        };
        let part = (probability - lower.cumulative) / (upper.cumulative - lower.cumulative);
        lower.size + part * (upper.size - lower.size)
    }

    /// The largest size in bytes.
    pub fn largest(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.size)
    }

    /// The mean in bytes with the table's interpolation.
    pub fn mean(&self) -> f64 {
        self.mean_by(self.interpolation)
    }

    /// The mean in bytes with another interpolation. Samples are rounded to the nearest byte, which
    /// moves their mean by less than a byte.
    pub fn mean_by(&self, interpolation: Interpolation) -> f64 {
        let first = self.points.first().map_or(0.0, |point| point.size * point.cumulative);
        self.points.windows(2).fold(first, |mean, pair| {
            let (lower, upper) = (pair[0], pair[1]);
            let size = match interpolation {
                Interpolation::Linear => f64::midpoint(lower.size, upper.size),
                Interpolation::Step => upper.size,
            };
            mean + size * (upper.cumulative - lower.cumulative)
        })
    }
}

/// The point of a line, if there is one.
fn point(content: &str) -> Result<Option<Point>, TableProblem> {
    let columns: Vec<_> = content.split_whitespace().collect();
    let number = |text: &str| match text.parse::<f64>() {
        Ok(number) if number < 0.0 => Err(TableProblem::Negative(text.to_owned())),
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(TableProblem::NotANumber(text.to_owned())),
    };
    match columns[..] {
        [] => Ok(None),
        [size, cumulative] => {
            Ok(Some(Point { size: number(size)?, cumulative: number(cumulative)? }))
        }
        _ => Err(TableProblem::Columns(columns.len())),
    }
}

/// The coordinate that falls from a point to the next, if one does.
fn falls(before: &Point, after: &Point) -> Option<TableProblem> {
    if after.size < before.size {
        Some(TableProblem::SizeFalls { from: before.size, to: after.size })
    } else if after.cumulative < before.cumulative {
        let (from, to) = (before.cumulative, after.cumulative);
        Some(TableProblem::ProbabilityFalls { from, to })
    } else {
        None
    }
}

/// An error in the text of a table of sizes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct TableError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The mistake.
    pub problem: TableProblem,
}

/// A mistake in a line of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableProblem {
    /// A wrong number of columns.
    Columns(usize),
    /// A column that is not a finite number.
    NotANumber(String),
    /// A number below zero.
    Negative(String),
    /// A size in bytes above the largest that can be simulated.
    TooLarge(f64),
    /// A size below the one before it, both in the file's unit.
    SizeFalls {
        /// The size before it.
        from: f64,
        /// The size itself.
        to: f64,
    },
    /// A probability below the one before it.
    ProbabilityFalls {
        /// The probability before it.
        from: f64,
        /// The probability itself.
        to: f64,
    },
    /// A last probability that is neither 1 nor 100.
    Incomplete(f64),
    /// A largest size of less than a byte.
    Nothing(f64),
    /// A table without points.
    Empty,
}

impl fmt::Display for TableProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns(1) => f.write_str("1 column; expected two, a size and a probability"),
            Self::Columns(n) => {
                write!(f, "{n} columns; expected two, a size and a probability")?;
                // The tables of ns-2 have a meaningless column between them.
                if *n == 3 {
                    f.write_str(" (of a table of ns-2 drop the middle one)")
                } else {
                    Ok(())
                }
            }
            Self::NotANumber(text) => {
                write!(f, "{text:?} is not a number; expected one such as 0.25")
            }
            Self::Negative(text) => write!(f, "{text} is negative; expected a number from 0"),
            Self::TooLarge(size) => {
                write!(f, "{size} bytes are too many; expected at most {}", Bytes::new(LARGEST))
            }
            Self::SizeFalls { from, to } => {
                write!(f, "the size falls from {from} to {to}; expected the smallest size first")
            }
            Self::ProbabilityFalls { from, to } => write!(
                f,
                "the probability falls from {from} to {to}; expected cumulative probabilities"
            ),
            Self::Incomplete(last) => write!(
                f,
                "the last probability is {last}; expected 1, or 100 if the table is in percent"
            ),
            Self::Nothing(size) => {
                write!(f, "the largest size is {size} bytes; expected at least one byte")
            }
            Self::Empty => f.write_str("no points; expected lines with a size and a probability"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SizeTable, TableError> {
        SizeTable::parse(text, "mine.cdf", Unit::Bytes, Interpolation::Linear)
    }

    #[test]
    fn each_fault_is_told_with_its_line_and_reason() {
        use TableProblem as P;
        let cases = [
            ("0 0\n100\n", 2, P::Columns(1), "1 column; expected two"),
            ("# packets\n\n1 1 0.5\n2 1 1\n", 3, P::Columns(3), "drop the middle one"),
            ("0 0\n10 0.5 1 1\n", 2, P::Columns(4), "4 columns"),
            ("0 0\n10,5 0.5\n", 2, P::NotANumber("10,5".into()), "\"10,5\" is not a number"),
            ("0 0\n10 nan\n", 2, P::NotANumber("nan".into()), "\"nan\" is not a number"),
            ("0 0\ninf 1\n", 2, P::NotANumber("inf".into()), "\"inf\" is not a number"),
            ("-1 0\n10 1\n", 1, P::Negative("-1".into()), "-1 is negative"),
            ("0 -0.5\n10 1\n", 1, P::Negative("-0.5".into()), "-0.5 is negative"),
            ("0 0\n1e13 1\n", 2, P::TooLarge(1e13), "expected at most 1000GB"),
            (
                "0 0\n20 0.5\n10 1\n",
                3,
                P::SizeFalls { from: 20.0, to: 10.0 },
                "the size falls from 20 to 10",
            ),
            (
                "0 0\n10 0.5 # fine\n20 0.4\n30 1\n",
                3,
                P::ProbabilityFalls { from: 0.5, to: 0.4 },
                "the probability falls from 0.5 to 0.4",
            ),
            ("0 0\n10 0.99\n\n", 2, P::Incomplete(0.99), "the last probability is 0.99"),
            ("0 0\n10 101\n", 2, P::Incomplete(101.0), "expected 1, or 100"),
            ("0 0\n0 1\n", 2, P::Nothing(0.0), "at least one byte"),
            ("", 1, P::Empty, "no points"),
            ("# a title\n\n", 2, P::Empty, "no points"),
        ];
        for (text, line, problem, says) in cases {
            let error = read(text).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with(&format!("mine.cdf:{line}: ")), "{text:?}: {message}");
            assert!(message.contains(says), "{text:?}: {message}");
            assert_eq!(error.problem, problem, "{text:?}");
        }
    }

    #[test]
    fn a_size_that_falls_is_told_in_the_unit_of_the_file() {
        let packets = Unit::Packets(Bytes::new(1_460));
        let text = "3 0.5\n2 1\n";
        let error = SizeTable::parse(text, "f", packets, Interpolation::Step).unwrap_err();
        assert_eq!(error.problem, TableProblem::SizeFalls { from: 3.0, to: 2.0 });
    }

    #[test]
    fn percent_fractions_comments_and_line_ends_are_the_same_table() {
        let fractions = read("0 0\n100 0.15\n200 1\n").unwrap();
        assert_eq!(read("# percent\r\n 0\t0 \r\n\r\n100 15 # most\r\n200 100").unwrap(), fractions);
    }

    #[test]
    fn packets_are_so_many_bytes() {
        let packets = Unit::Packets(Bytes::new(1_460));
        let table = SizeTable::parse("1 0.5\n3 1\n", "f", packets, Interpolation::Step).unwrap();
        assert_eq!(table.points().collect::<Vec<_>>(), [(1_460.0, 0.5), (4_380.0, 1.0)]);
    }

    #[test]
    fn quantiles_and_means_of_a_table_that_can_be_done_by_hand() {
        // A quarter of the flows has 100 B, a half lies between 100 B and 300 B, none between 300 B
        // and 500 B, a quarter between 500 B and 900 B.
        let linear = read("100 0.25\n300 0.75\n500 0.75\n900 1\n").unwrap();
        let step = linear.clone().with_interpolation(Interpolation::Step);
        for (probability, by_lines, by_steps) in [
            (0.1, 100.0, 100.0),
            (0.25, 100.0, 100.0),
            (0.5, 200.0, 300.0),
            (0.75, 300.0, 300.0),
            (0.875, 700.0, 900.0),
            (1.0, 900.0, 900.0),
        ] {
            assert_eq!(linear.quantile(probability), by_lines, "{probability}");
            assert_eq!(step.quantile(probability), by_steps, "{probability}");
        }
        // 100/4 + 200/2 + 700/4, and 100/4 + 300/2 + 900/4.
        assert_eq!(linear.mean(), 300.0);
        assert_eq!(step.mean(), 400.0);
        assert_eq!(linear.mean_by(Interpolation::Step), step.mean());
    }

    #[test]
    fn two_points_of_one_size_are_a_size_that_many_flows_have() {
        // As PIAS writes its tables: half of all flows are one packet.
        let table = read("1460 0\n1460 0.5\n2920 1\n").unwrap();
        assert_eq!(table.quantile(0.3), 1_460.0);
        assert_eq!(table.quantile(0.75), 2_190.0);
    }
}
