//! The header is that of the sources, compiles in C and C++, and a program in C calls another one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "what is skipped is said")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folder of the crate.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_header_is_that_of_the_sources() {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::generate_with_config(folder(), config).unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let (path, made) = (folder().join("include/incast.h"), String::from_utf8(made).unwrap());
    if std::env::var_os("INCAST_UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "include/incast.h differs from the sources: INCAST_UPDATE_HEADER=1 makes it again"
    );
}

/// A compiler, if there is one.
fn compiler(name: &str) -> Option<&str> {
    let found = Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("skipped: no {name} here");
    }
    found.then_some(name)
}

/// The folder of the library, which was built with this test.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    for name in ["libincast.so", "libincast.a"] {
        assert!(folder.join(name).exists(), "cargo has built no {name} in {}", folder.display());
    }
    folder
}

/// Runs a compiler with all warnings, which are errors.
fn compile(compiler: &str, arguments: &[&dyn AsRef<OsStr>]) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(folder().join("include"));
    command.args(arguments.iter().map(AsRef::as_ref));
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(status.success(), "{command:?}\n{}", String::from_utf8_lossy(&stderr));
}

#[test]
fn the_header_compiles_alone_in_c_and_in_cpp() {
    let header = folder().join("include/incast.h");
    for (name, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        if let Some(name) = compiler(name) {
            compile(name, &[&"-fsyntax-only", &"-x", &language, &standard, &header]);
        }
    }
}

#[test]
fn a_program_in_c_calls_another_one() {
    let Some(cc) = compiler("cc") else { return };
    let library = library();
    let source = folder().join("examples/echo.c");
    // With the shared library, and with everything in the program.
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let shared = programs.join("echo-shared");
    let path = format!("-Wl,-rpath,{}", library.display());
    let of = library.display().to_string();
    compile(cc, &[&"-std=c11", &source, &"-o", &shared, &"-L", &of, &"-lincast", &path]);
    let whole = programs.join("echo-whole");
    let archive = library.join("libincast.a");
    compile(cc, &[&"-std=c11", &source, &"-o", &whole, &archive, &"-lpthread", &"-ldl", &"-lm"]);
    for program in [&shared, &whole] {
        let mut server = Command::new(program);
        let mut server =
            server.args(["serve", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at ").unwrap().to_owned();
        let call = |texts: &[&str]| {
            let mut client = Command::new(program);
            let out = client.args(["call", &address]).args(texts).output().unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (out.status.code(), text(out.stdout), text(out.stderr))
        };
        let long = "x".repeat(100_000);
        let echoed = format!("how are you?\n{long}\nä\n");
        assert_eq!(call(&["how are you?", &long, "ä"]), (Some(0), echoed, String::new()));
        let refused = "call: the peer has refused the call: an empty call has no echo\n";
        assert_eq!(call(&["one", ""]), (Some(1), "one\n".to_owned(), refused.to_owned()));
        assert_eq!(call(&["stop"]), (Some(0), "stop\n".to_owned(), String::new()));
        assert!(server.wait().unwrap().success());
        out.read_to_string(&mut line).unwrap();
        let (code, _, error) = call(&["too late"]);
        assert_eq!(code, Some(1));
        assert!(error.starts_with("connect: nothing answers at "), "{error}");
    }
}
