//! Compiles the BPF programs and their skeletons, plain objects of the algorithms, and, for tests,
//! the integer cores for the host.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let args = clang_args(&env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"));
    let twin = cfg!(feature = "twin");
    for name in names("bpf", ".bpf.c").into_iter().filter(|name| twin || name != "twin") {
        let source = format!("bpf/{name}.bpf.c");
        SkeletonBuilder::new()
            .source(&source)
            .clang_args(&args)
            .build_and_generate(out.join(format!("{name}.skel.rs")))
            .unwrap_or_else(|error| panic!("{source}: {error:#}"));
    }
    let list = fs::read_to_string("src/programs.rs").expect("the list of programs");
    for name in names("src/programs", ".rs") {
        let listed = list.lines().any(|line| line.trim() == name);
        assert!(listed, "src/programs/{name}.rs: is not in the list at the end of src/programs.rs");
        plain_objects(&name, &args, &out);
    }
    #[cfg(feature = "twin")]
    cc::Build::new()
        .file("bpf/host.c")
        .warnings_into_errors(true)
        // Undefined behaviour in C ends the test that runs into it.
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .compile("incast_core");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=src/programs");
}

/// The files of a folder that end so, without the ending, in order.
fn names(folder: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let files = entries.map(|entry| entry.expect("a file").file_name().into_string());
    let mut names: Vec<_> =
        files.filter_map(|file| Some(file.ok()?.strip_suffix(ending)?.to_owned())).collect();
    names.sort();
    names
}

/// A plain object holds one `struct_ops` map: loaders that know nothing of incast load every map.
/// So a program for both signatures of `cong_control` makes two objects.
fn plain_objects(name: &str, args: &[String], out: &Path) {
    let source = format!("bpf/{name}.bpf.c");
    let text = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let objects = if text.contains("WITHOUT_OLD") {
        vec![("-6.10", Some("-DWITHOUT_OLD")), ("-before-6.10", Some("-DWITHOUT_NEW"))]
    } else {
        vec![("", None)]
    };
    for (kernels, signature) in objects {
        let object = format!("{name}{kernels}.bpf.o");
        SkeletonBuilder::new()
            .source(&source)
            .obj(out.join(&object))
            .clang_args(args.iter().cloned().chain(signature.map(str::to_owned)))
            .build()
            .unwrap_or_else(|error| panic!("{source} for {object}: {error:#}"));
    }
}

/// v3 has the atomics that pacing needs; clang 14 makes v2 by default, which has not.
fn clang_args(arch: &str) -> Vec<String> {
    let bpf_arch = match arch {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => other,
    };
    let mut args = vec![
        "-mcpu=v3".to_owned(),
        "-Wall".to_owned(),
        "-Werror".to_owned(),
        format!("-D__TARGET_ARCH_{bpf_arch}"),
    ];
    // Debian keeps asm/types.h here, where a compiler for BPF does not look.
    let multiarch = format!("/usr/include/{arch}-linux-gnu");
    if Path::new(&multiarch).is_dir() {
        args.push(format!("-I{multiarch}"));
    }
    args
}
