//! A session: a scenario and a run of it, which the page asks about.

use incast_sim::doubts::{Doubt, of_report, sentences};
use incast_sim::foreign::FORMATS;
use incast_sim::scenario::{Document, ScenarioError, Threads};
use incast_sim::{Figure, Report, Simulation, Table, TraceConfig, cost, digest};
use serde_json::{Map, Value, json};

use crate::about::about;
use crate::ask::{Ask, Format, Open};
use crate::opened::{opened, refusal};
use crate::tables;

/// The samples of the longest queue in an interval. In three intervals, which a figure draws as one
/// point, they meet the least within 6 % of the greatest, under PFC alone in `incast` over 50 ms to
/// 1 s, and they take 20 to 50 ms of a run. Moments at random meet it no better.
const SAMPLES: u64 = 16;

const NO_RUN: &str = "no run is under way";

/// A scenario that is open, and a run of it.
#[derive(Default)]
pub struct Session {
    document: Option<Document>,
    run: Option<Simulation>,
    report: Option<Report>,
    /// The number of samples of the longest queue, and the least of those since the last look.
    samples: u64,
    least: Option<u64>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An object in JSON.
    Json(String),
    /// An object in JSON whose `sentence` says what is wrong; `line` and `column` say where, if a
    /// place of the scenario is at fault.
    Error(String),
    /// The bytes of a file.
    Bytes(Vec<u8>),
}

/// A sentence on what is wrong, and the place in the scenario.
struct Wrong {
    sentence: String,
    place: Option<(usize, usize)>,
}

impl From<ScenarioError> for Wrong {
    fn from(error: ScenarioError) -> Self {
        let place = match &error {
            ScenarioError::At { place, .. } => Some((place.line, place.column)),
            _ => None,
        };
        Self { sentence: error.to_string(), place }
    }
}

impl From<String> for Wrong {
    fn from(sentence: String) -> Self {
        Self { sentence, place: None }
    }
}

impl From<&str> for Wrong {
    fn from(sentence: &str) -> Self {
        sentence.to_owned().into()
    }
}

impl Session {
    /// Answers a question in JSON ([`Ask`]).
    pub fn ask(&mut self, question: &[u8]) -> Answer {
        let answer = serde_json::from_slice(question)
            .map_err(|error| Wrong::from(format!("the question cannot be read: {error}")))
            .and_then(|ask| self.answer(ask));
        answer.unwrap_or_else(|Wrong { sentence, place }| {
            let (line, column) = place.unzip();
            let error = json!({ "sentence": sentence, "line": line, "column": column });
            Answer::Error(error.to_string())
        })
    }

    fn answer(&mut self, ask: Ask) -> Result<Answer, Wrong> {
        let json = match ask {
            Ask::About => about(),
            Ask::Open(open) => self.open(open)?,
            Ask::Start { scheme, seed } => self.start(&scheme, &seed)?,
            Ask::Advance { interval, events } => self.advance(interval, events)?,
            Ask::Look => self.look()?,
            Ask::Rtts => json!(self.run()?.rtts()),
            Ask::Finish => self.finish()?,
            Ask::Doubts { runs } => {
                let of_scheme = |(scheme, doubts): (String, Vec<Doubt>)| (scheme, vec![doubts]);
                let schemes = runs.into_iter().map(of_scheme).collect();
                json!(sentences(&[(String::new(), schemes)]))
            }
            Ask::Rows { table, from, count } => tables::rows(self.table(table)?, from, count),
            Ask::Columns { table, columns } => self.columns(&table, &columns)?,
            Ask::Values { table, column } => {
                let columns = &self.table(table)?.columns;
                let column = columns.get(column).ok_or_else(|| format!("no column {column}"))?;
                match tables::bytes(column) {
                    Some(bytes) => return Ok(Answer::Bytes(bytes)),
                    None => tables::column(column),
                }
            }
            Ask::File { table, format } => {
                let table = self.table(table)?;
                return Ok(Answer::Bytes(match format {
                    Format::Csv => tables::csv(table),
                    Format::Arrow => tables::arrow(table).map_err(|error| error.to_string())?,
                }));
            }
        };
        Ok(Answer::Json(json.to_string()))
    }

    fn open(&mut self, open: Open) -> Result<Value, Wrong> {
        *self = Self::default();
        let Open { file, text, files, changes, schemes, seed } = open;
        if !seed.is_empty() {
            number_of(&seed)?;
        }
        let before = FORMATS.restore(text, &file, files)?;
        let document =
            if changes.is_empty() { before.clone() } else { before.with_set(&changes)? };
        let description = opened(&before, &document, &schemes)?;
        self.document = Some(document);
        Ok(description)
    }

    fn start(&mut self, name: &str, seed: &str) -> Result<Value, Wrong> {
        (self.run, self.report, self.samples, self.least) = (None, None, 0, None);
        let scenario = self.document.as_ref().ok_or("no scenario is open")?.scenario();
        let seed = number_of(seed)?;
        let scheme = scenario.scheme(name)?;
        let traces = TraceConfig::default();
        if let Some(refused) = refusal(name, &cost(scenario, &scheme, traces)) {
            return Err(refused.into());
        }
        let run = Simulation::new(scenario, name, seed, traces)?.in_threads(Threads::Count(1));
        let flows = run.flows();
        let (interval, duration) = (run.interval(), run.duration());
        self.run = Some(run);
        Ok(json!({
            "flows": flows,
            "interval_us": interval.as_us_f64(),
            // The last one may be cut short.
            "intervals": duration.as_ps().div_ceil(interval.as_ps().max(1)),
        }))
    }

    /// Whether the moment was reached, and the run has come to its end.
    fn advance(&mut self, interval: u32, events: u32) -> Result<Value, Wrong> {
        let run = self.run.as_mut().ok_or(NO_RUN)?;
        let (interval, last) = (u64::from(interval), run.events() + u64::from(events));
        let mut reached = true;
        while reached && self.samples < interval * SAMPLES {
            let until = (run.interval() * (self.samples + 1) / SAMPLES).min(run.duration());
            reached = !run.approach(until, last.saturating_sub(run.events()).max(1));
            if reached {
                self.samples += 1;
                self.least = Some(self.least.unwrap_or(u64::MAX).min(run.longest_queue()));
            }
        }
        let ended = reached && run.interval() * interval >= run.duration();
        Ok(json!({ "reached": reached, "ended": ended, "at_us": run.simulated().as_us_f64() }))
    }

    fn look(&mut self) -> Result<Value, Wrong> {
        let least = self.least.take();
        let run = self.run()?;
        let look = run.look();
        let flows: Vec<_> = look
            .flows
            .iter()
            .map(|one| json!([one.flow, one.delivered, one.rate.as_gbps_f64()]))
            .collect();
        let links: Vec<_> =
            look.links.iter().map(|link| json!([link.bytes, u8::from(link.held)])).collect();
        Ok(json!({
            "at_us": run.simulated().as_us_f64(),
            "intervals": look.intervals,
            "queues": look.queues,
            "least": least,
            "flows": flows,
            "links": links,
            "rtt_samples": look.rtt_samples,
            "rtt_sum_ns": look.rtt_sum_ns,
            "drops": look.drops,
        }))
    }

    fn finish(&mut self) -> Result<Value, Wrong> {
        let report = self.run.take().ok_or(NO_RUN)?.finish();
        let document = self.document.as_ref().ok_or(NO_RUN)?;
        let figures: Map<_, _> = report.summary.entries().into_iter().map(figure).collect();
        let answer = json!({
            "complete": report.complete,
            "figures": figures,
            "doubts": of_report(&report, document),
            "tables": report.tables.iter().map(tables::described).collect::<Vec<_>>(),
            "digest": format!("{:016x}", digest(&report.tables)),
        });
        self.report = Some(report);
        Ok(answer)
    }

    fn columns(&self, table: &str, names: &[String]) -> Result<Value, Wrong> {
        let report = self.report.as_ref().ok_or("no run has ended")?;
        let found = report.tables.iter().find(|other| other.name == table);
        let found = found.ok_or_else(|| format!("there is no table {table:?}"))?;
        let column = |name: &String| {
            let found = found.columns.iter().find(|other| other.name == *name);
            let found = found.ok_or_else(|| format!("{table} has no column {name:?}"))?;
            Ok::<_, String>(tables::column(found))
        };
        Ok(names.iter().map(column).collect::<Result<Vec<_>, _>>()?.into())
    }

    fn run(&mut self) -> Result<&mut Simulation, Wrong> {
        Ok(self.run.as_mut().ok_or(NO_RUN)?)
    }

    fn table(&self, number: usize) -> Result<&Table, Wrong> {
        let tables = self.report.as_ref().map_or(&[][..], |report| &report.tables);
        Ok(tables.get(number).ok_or_else(|| format!("there is no table {number}"))?)
    }
}

/// The number of a seed in decimal digits.
fn number_of(seed: &str) -> Result<u64, Wrong> {
    seed.parse().map_err(|_| {
        let expected = "expected a whole number from 0 to 18446744073709551615";
        format!("seed {seed:?}: {expected}").into()
    })
}

/// A figure with its name; null where nothing was measured.
fn figure((name, figure): (&'static str, Figure)) -> (String, Value) {
    let value = match figure {
        Figure::Number(number) => json!(number),
        Figure::Count(count) => json!(count),
    };
    (name.to_owned(), value)
}
