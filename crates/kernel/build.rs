//! Compiles the BPF programs and their skeletons, plain objects of some, and the integer cores for the host.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

const PROGRAMS: [&str; 6] = ["timely", "rtcp", "dctcp", "cgroup", "mark", "twin"];

/// Plain objects hold one `struct_ops` map each: loaders that know nothing of incast load all that there is.
const OBJECTS: [(&str, &str, Option<&str>); 4] = [
    ("timely-6.10", "timely", Some("-DWITHOUT_OLD")),
    ("timely-before-6.10", "timely", Some("-DWITHOUT_NEW")),
    ("rtcp", "rtcp", None),
    ("dctcp", "dctcp", None),
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    for name in PROGRAMS {
        let source = format!("bpf/{name}.bpf.c");
        SkeletonBuilder::new()
            .source(&source)
            .clang_args(clang_args(&arch))
            .build_and_generate(out.join(format!("{name}.skel.rs")))
            .unwrap_or_else(|error| panic!("{source}: {error:#}"));
    }
    for (object, name, signature) in OBJECTS {
        let source = format!("bpf/{name}.bpf.c");
        SkeletonBuilder::new()
            .source(&source)
            .obj(out.join(format!("{object}.bpf.o")))
            .clang_args(clang_args(&arch).into_iter().chain(signature.map(str::to_owned)))
            .build()
            .unwrap_or_else(|error| panic!("{source} for {object}: {error:#}"));
    }
    cc::Build::new()
        .file("bpf/host.c")
        .warnings_into_errors(true)
        // What C leaves undefined ends the test that does it.
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .compile("incast_core");
    println!("cargo:rerun-if-changed=bpf");
}

/// v3 has the atomics that pacing needs; what clang 14 makes by default, v2, has not.
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
