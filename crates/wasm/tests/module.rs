//! The WebAssembly module imports nothing, and its results are those of a native build.

use std::path::{Path, PathBuf};
use std::process::Command;

use wasmi::{Engine, Linker, Module, Store};

const TARGET: &str = "wasm32-unknown-unknown";

/// Whether the compiler can build for the target.
fn has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = ["--print", "target-libdir", "--target", TARGET];
    let output = Command::new(rustc).args(libraries).output().expect("rustc runs");
    let libraries = String::from_utf8(output.stdout).expect("a path");
    Path::new(libraries.trim()).exists()
}

/// The module, built as the tests are.
fn module() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = crates.join("../../target/wasm");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "-p", "incast-wasm", "--lib", "--target", TARGET]);
    cargo.arg("--target-dir").arg(&target).current_dir(crates);
    assert!(cargo.status().expect("cargo runs").success(), "{TARGET} cannot be built");
    target.join(TARGET).join("debug/incast_wasm.wasm")
}

#[test]
fn the_module_imports_nothing_and_gives_the_same_tables() {
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

    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module);
    let instance = instance.expect("nothing is missing");
    let run = instance.get_typed_func::<(), u64>(&store, "incast_digest").expect("exported");
    let there = run.call(&mut store, ()).expect("it ends");

    assert_ne!(there, 0, "the scenario cannot be run");
    assert_eq!(there, incast_wasm::incast_digest());
}
