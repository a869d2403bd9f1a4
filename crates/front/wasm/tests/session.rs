//! A session answers in plain sentences, and its results are those of a run in one go.

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig, digest};
use incast_wasm::{Answer, Session};
use serde_json::{Value, json};

const INCAST: &str = include_str!("../../../../scenarios/incast.toml");
const LARGE: &str = include_str!("../../../../scenarios/fat-tree-1024.toml");

fn ask(session: &mut Session, question: &Value) -> Result<Value, Value> {
    let parsed = |text: String| serde_json::from_str(&text).expect("JSON");
    match session.ask(question.to_string().as_bytes()) {
        Answer::Json(text) => Ok(parsed(text)),
        Answer::Error(text) => Err(parsed(text)),
        Answer::Bytes(bytes) => Ok(json!(bytes.len())),
    }
}

fn open(text: &str, changes: &[&str]) -> (Session, Result<Value, Value>) {
    let mut session = Session::default();
    let question = json!({ "ask": "open", "file": "some.toml", "text": text, "changes": changes });
    let opened = ask(&mut session, &question);
    (session, opened)
}

#[test]
fn the_least_of_the_longest_queue_is_met_between_the_ends_of_intervals() {
    // PFC alone: a queue of 77 to 2,096 KB that swings once in a millisecond.
    let (mut session, _) =
        open(INCAST, &["run.duration=20ms", "run.warmup=5ms", "run.interval=1ms"]);
    let start = json!({ "ask": "start", "scheme": "line-rate", "seed": "1" });
    ask(&mut session, &start).expect("it starts");
    for interval in 1..=19 {
        let next = json!({ "ask": "advance", "interval": interval, "events": 10_000_000 });
        assert_eq!(ask(&mut session, &next).expect("it goes on")["reached"], true);
        let look = ask(&mut session, &json!({ "ask": "look" })).expect("a run is under way");
        let queues = look["queues"].as_array().expect("a list").iter();
        let most = queues.filter_map(|queue| queue[1].as_u64()).max();
        assert!(most.is_some_and(|bytes| bytes > 2_000_000), "{most:?}");
        assert!(look["least"].as_u64().is_some_and(|bytes| bytes < 300_000), "{}", look["least"]);
    }
}

#[test]
fn a_run_in_slices_has_the_tables_of_a_run_in_one_go() {
    let changes = ["run.duration=20ms", "run.warmup=5ms"];
    let (mut session, opened) = open(INCAST, &changes);
    let opened = opened.expect("it is right");
    assert_eq!(opened["schemes"][0]["parameters"]["t_high"], "100us");
    assert_eq!(opened["values"]["run"]["duration"], "20ms");
    assert_eq!(opened["before"]["run"]["duration"], "1s");
    assert_eq!(opened["network"]["links"].as_array().map(Vec::len), Some(22));
    assert_eq!(opened["published"]["timely"]["rtt_p99_us"], 116.0);
    let started = ask(&mut session, &json!({ "ask": "start", "scheme": "timely", "seed": "7" }));
    assert_eq!(started.expect("it starts")["intervals"], 400);
    for interval in 1..=400 {
        let next = json!({ "ask": "advance", "interval": interval, "events": 300 });
        while ask(&mut session, &next).expect("it goes on")["reached"] != true {}
    }
    let look = ask(&mut session, &json!({ "ask": "look" })).expect("a run is under way");
    assert!(look["least"].is_u64(), "a sample of the longest queue");
    assert_eq!(look["flows"].as_array().map(Vec::len), Some(40));
    let ended = ask(&mut session, &json!({ "ask": "finish" })).expect("it has ended");

    let document = Document::parse(INCAST.to_owned(), "some.toml").expect("it is right");
    let document = document.with_set(&changes).expect("they are right");
    let run = Simulation::new(document.scenario(), "timely", 7, TraceConfig::default());
    let mut run = run.expect("it starts");
    while run.advance(u64::MAX) {}
    let report = run.finish();
    assert_eq!(ended["digest"], format!("{:016x}", digest(&report.tables)));
    assert_eq!(ended["complete"], true);
    assert_eq!(ended["tables"].as_array().map(Vec::len), Some(report.tables.len()));
    let question = json!({ "ask": "columns", "table": "rtt_histogram", "columns": ["count"] });
    let counts = ask(&mut session, &question).expect("it is there");
    let counts: u64 = counts[0].as_array().expect("a list").iter().filter_map(Value::as_u64).sum();
    assert_eq!(counts, report.summary.rtt_samples);
}

#[test]
fn a_run_that_has_not_come_to_rest_is_doubted() {
    let doubted = |changes: &[&str], scheme: &str| {
        let (mut session, _) = open(INCAST, changes);
        let start = json!({ "ask": "start", "scheme": scheme, "seed": "1" });
        let started = ask(&mut session, &start).expect("it starts");
        let next =
            json!({ "ask": "advance", "interval": started["intervals"], "events": u32::MAX });
        while ask(&mut session, &next).expect("it goes on")["ended"] != true {}
        ask(&mut session, &json!({ "ask": "finish" })).expect("it has ended")["doubts"].clone()
    };
    let cut = ["run.duration=60ms", "run.warmup=20ms"];
    let runs = ["timely", "line-rate"].map(|scheme| json!([scheme, doubted(&cut, scheme)]));
    let (mut session, _) = open(INCAST, &cut);
    let said = ask(&mut session, &json!({ "ask": "doubts", "runs": runs })).expect("sentences");
    let [sentence] = &said.as_array().expect("a list")[..] else { panic!("{said}") };
    let sentence = sentence.as_str().expect("a sentence");
    assert!(sentence.starts_with("flows: their rate together has not come to rest"), "{sentence}");
    assert!(
        sentence.contains(" Gb/s under timely (") && !sentence.contains("line-rate"),
        "{sentence}"
    );
}

#[test]
fn mistakes_get_the_sentence_of_the_command_line_and_their_place() {
    let (_, wrong) = open("title = \"x\"\n[run]\nduraton = \"1ms\"\n", &[]);
    let wrong = wrong.expect_err("duraton");
    let sentence = wrong["sentence"].as_str().expect("a sentence");
    let known = Document::parse("title = \"x\"\n[run]\nduraton = \"1ms\"\n".into(), "some.toml");
    assert_eq!(sentence, known.expect_err("duraton").to_string());
    assert_eq!((&wrong["line"], &wrong["column"]), (&json!(3), &json!(1)));

    let (_, wrong) = open(INCAST, &["run.duraton=1ms"]);
    let wrong = wrong.expect_err("duraton");
    let sentence = wrong["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("run.duraton=1ms: "), "{sentence}");
    assert_eq!(wrong["line"], Value::Null);

    let question = json!({ "ask": "open", "file": "some.toml", "text": INCAST, "seed": "-1" });
    let wrong = ask(&mut Session::default(), &question).expect_err("a seed");
    assert!(
        wrong["sentence"].as_str().is_some_and(|text| text.starts_with("seed \"-1\": ")),
        "{wrong}"
    );

    let (mut session, opened) = open(INCAST, &[]);
    opened.expect("it is right");
    let start = json!({ "ask": "start", "scheme": "timly", "seed": "1" });
    let wrong = ask(&mut session, &start).expect_err("timly");
    assert!(wrong["sentence"].as_str().is_some_and(|text| text.contains("timely")), "{wrong}");
}

#[test]
fn a_scenario_that_is_too_large_is_refused_with_its_time_and_memory() {
    let (mut session, opened) = open(LARGE, &[]);
    let opened = opened.expect("it is right");
    let start = json!({ "ask": "start", "scheme": "timely", "seed": "1" });
    let refused = ask(&mut session, &start).expect_err("too large");
    assert_eq!(refused["sentence"], opened["schemes"][0]["refused"]);
    let sentence = refused["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("timely would take about 80 s and 110 MB"), "{sentence}");
    assert!(sentence.contains("run it natively"), "{sentence}");
    // The packets take the time, and hosts the memory: each is what would help.
    assert!(sentence.ends_with(", or shorten run.duration"), "{sentence}");
    let refused =
        |changes: &[&str]| open(LARGE, changes).1.expect("right")["schemes"][0]["refused"].clone();
    assert_eq!(refused(&["run.duration=2ms", "run.warmup=500us"]), Value::Null);
    let more = ["run.duration=2ms", "run.warmup=500us", "run.interval=1us", "measure.series=true"];
    let rows = refused(&more);
    let rows = rows.as_str().expect("a sentence");
    assert!(rows.contains("or lengthen run.interval, or set measure.series = false"), "{rows}");
}
