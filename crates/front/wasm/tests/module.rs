//! The WebAssembly module imports nothing, and its answers are those of a native build.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use incast_wasm::{Answer, Session};
use serde_json::{Value, json};

const TARGET: &str = "wasm32-unknown-unknown";

/// A fat tree of 16 hosts with streams, messages and telemetry.
const SCENARIO: &str = include_str!("../../../../scenarios/fat-tree-web-search.toml");

/// Values of the scenario, changed to make the runs short.
const CHANGES: [&str; 4] =
    ["run.duration=400us", "run.warmup=100us", "run.cooldown=50us", "run.interval=20us"];

/// Whether the compiler can build for the target.
fn has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = ["--print", "target-libdir", "--target", TARGET];
    let output = Command::new(rustc).args(libraries).output().expect("rustc runs");
    let libraries = String::from_utf8(output.stdout).expect("a path");
    Path::new(libraries.trim()).exists()
}

/// The module, built as `make page` builds it. It is there already where the page is.
fn module() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = crates.join("../../../target/wasm");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--profile", "page", "--locked", "-p", "incast-wasm", "--lib"]);
    cargo.args(["--target", TARGET]);
    cargo.arg("--target-dir").arg(&target).current_dir(crates);
    assert!(cargo.status().expect("cargo runs").success(), "{TARGET} cannot be built");
    target.join(TARGET).join("page/incast_wasm.wasm")
}

/// The answers of the module in Node.js: the kind and the bytes of each, in hexadecimal digits.
fn answers(module: &Path, questions: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/module.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(module).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().expect("Node.js runs");
    let mut input = node.stdin.take().expect("a pipe");
    input.write_all(questions.as_bytes()).expect("Node.js reads");
    drop(input);
    let output = node.wait_with_output().expect("Node.js ends");
    assert!(output.status.success(), "what it says stands above");
    String::from_utf8(output.stdout).expect("digits")
}

/// An answer in the form of [`answers`].
fn digits(answer: Answer) -> String {
    let (kind, bytes) = match answer {
        Answer::Json(text) => (0, text.into_bytes()),
        Answer::Error(text) => (1, text.into_bytes()),
        Answer::Bytes(bytes) => (2, bytes),
    };
    let mut digits = format!("{kind} ");
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("room");
    }
    digits
}

/// The questions of a page, from the scenario to the tables.
fn questions(scheme: &str) -> Vec<Value> {
    let file = "fat-tree-web-search.toml";
    let mut all = vec![
        json!({ "ask": "about" }),
        json!({ "ask": "look" }),
        json!({ "ask": "open", "file": file, "text": "title = 3" }),
        json!({ "ask": "open", "file": file, "text": SCENARIO, "changes": CHANGES }),
        json!({ "ask": "start", "scheme": scheme, "seed": "18446744073709551616" }),
        json!({ "ask": "start", "scheme": scheme, "seed": "1" }),
    ];
    for interval in 1..=20 {
        // Many times, with few events, so that an interval has several slices.
        all.extend(
            (0..12).map(|_| json!({ "ask": "advance", "interval": interval, "events": 999 })),
        );
        all.push(json!({ "ask": "advance", "interval": interval, "events": u32::MAX }));
        all.push(json!({ "ask": "look" }));
    }
    all.extend([json!({ "ask": "rtts" }), json!({ "ask": "finish" })]);
    for table in 0..20 {
        all.push(json!({ "ask": "rows", "table": table, "from": 3, "count": 5 }));
        all.push(json!({ "ask": "file", "table": table, "format": "arrow" }));
        all.push(json!({ "ask": "file", "table": table, "format": "csv" }));
    }
    all
}

#[test]
fn the_module_imports_nothing_and_answers_as_a_native_build_does() {
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if !has_target() || node.is_err() {
        #[expect(clippy::print_stderr, reason = "what is skipped is said")]
        {
            eprintln!("skipped: no {TARGET} here (rustup target add {TARGET}), or no Node.js");
        }
        return;
    }
    let module = module();
    for scheme in ["dctcp", "hpcc", "timely"] {
        let questions: Vec<_> = questions(scheme).iter().map(Value::to_string).collect();
        let there = answers(&module, &questions.join("\n"));
        let mut native = Session::default();
        let mut compared = 0;
        for (question, there) in questions.iter().zip(there.lines()) {
            let here = digits(native.ask(question.as_bytes()));
            assert!(there == here, "{scheme}: {question}: {there} there, {here} here");
            compared += 1;
        }
        assert_eq!(compared, questions.len());
    }
}
