//! The WebAssembly module imports nothing, and its answers are those of a native build.

use std::path::{Path, PathBuf};
use std::process::Command;

use incast_wasm::{Answer, Session};
use serde_json::{Value, json};
use wasmi::{Engine, Instance, Linker, Memory, Module, Store};

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

/// The module, built as `make page` builds it. It is there already where the page is; a module
/// without optimisation would take the interpreter minutes.
fn module() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = crates.join("../../../target/wasm");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "-p", "incast-wasm", "--lib"]);
    cargo.args(["--target", TARGET]);
    cargo.arg("--target-dir").arg(&target).current_dir(crates);
    assert!(cargo.status().expect("cargo runs").success(), "{TARGET} cannot be built");
    target.join(TARGET).join("release/incast_wasm.wasm")
}

/// An instance of the module, asked as a page asks it.
struct Page {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Page {
    fn new(engine: &Engine, module: &Module) -> Self {
        let mut store = Store::new(engine, ());
        let instance = Linker::new(engine).instantiate_and_start(&mut store, module);
        let instance = instance.expect("nothing is missing");
        let memory = instance.get_memory(&store, "memory").expect("it has one");
        Self { store, instance, memory }
    }

    fn call(&mut self, name: &str) -> u32 {
        let function = self.instance.get_typed_func::<(), u32>(&self.store, name);
        function.expect("exported").call(&mut self.store, ()).expect("it ends")
    }

    fn ask(&mut self, question: &[u8]) -> Answer {
        let room = self.instance.get_typed_func::<u32, u32>(&self.store, "incast_room");
        let length = u32::try_from(question.len()).expect("short");
        let at = room.expect("exported").call(&mut self.store, length).expect("it ends");
        self.memory.write(&mut self.store, at as usize, question).expect("there is room");
        let kind = self.call("incast_ask");
        let mut bytes = vec![0; self.call("incast_answer_length") as usize];
        let at = self.call("incast_answer") as usize;
        self.memory.read(&self.store, at, &mut bytes).expect("it is there");
        match kind {
            0 => Answer::Json(String::from_utf8(bytes).expect("text")),
            1 => Answer::Error(String::from_utf8(bytes).expect("text")),
            _ => Answer::Bytes(bytes),
        }
    }
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
    if !has_target() {
        #[expect(clippy::print_stderr, reason = "what is skipped is said")]
        {
            eprintln!("skipped: no {TARGET} here (rustup target add {TARGET})");
        }
        return;
    }
    let bytes = std::fs::read(module()).expect("it was built");
    let engine = Engine::default();
    let module = Module::new(&engine, &bytes).expect("a module");
    let imports: Vec<_> = module.imports().map(|import| import.name().to_owned()).collect();
    assert_eq!(imports, [""; 0], "a page would have to supply these");

    for scheme in ["dctcp", "hpcc", "timely"] {
        let (mut page, mut native) = (Page::new(&engine, &module), Session::default());
        for question in questions(scheme) {
            let question = question.to_string();
            let (there, here) = (page.ask(question.as_bytes()), native.ask(question.as_bytes()));
            assert!(there == here, "{scheme}: {question}: {there:?} there, {here:?} here");
        }
    }
}
