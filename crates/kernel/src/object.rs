//! Objects for loaders that know nothing of incast, such as `bpftool struct_ops register`: the same programs, which
//! bring the values of their knobs along.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _};

use crate::algorithm::{Algorithm, Settings};
use crate::attached::KNOBS;
use crate::{Error, Result};

macro_rules! objects {
    ($($algorithm:ident $name:literal),+ $(,)?) => {
        [$((Algorithm::$algorithm, $name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name)))),+]
    };
}

/// What the build has made. The name says for which kernels, where `cong_control` is not the same in all.
const OBJECTS: [(Algorithm, &str, &[u8]); 4] = objects![
    Timely "timely-6.10.bpf.o",
    Timely "timely-before-6.10.bpf.o",
    Rtcp "rtcp.bpf.o",
    Dctcp "dctcp.bpf.o",
];

/// Writes the objects of an algorithm with these settings to a directory, which is made; returns their paths.
///
/// # Errors
/// The settings do not fit together, or the directory cannot be written.
///
/// # Panics
/// If the build has made an object without knobs.
pub fn write(settings: &Settings, directory: &Path) -> Result<Vec<PathBuf>> {
    let refused = |path: &Path, error: &std::io::Error| {
        Error(format!("--out {}: cannot be written: {error}", path.display()))
    };
    settings.check()?;
    let knobs = settings.knobs()?;
    fs::create_dir_all(directory).map_err(|error| refused(directory, &error))?;
    let mut written = Vec::new();
    for (_, name, bytes) in OBJECTS.iter().filter(|one| one.0 == settings.algorithm()) {
        let path = directory.join(name);
        fs::write(&path, filled(bytes, &knobs)).map_err(|error| refused(&path, &error))?;
        written.push(path);
    }
    Ok(written)
}

fn filled(object: &[u8], knobs: &[u8]) -> Vec<u8> {
    let mut filled = object.to_vec();
    filled[place(object)].copy_from_slice(knobs);
    filled
}

/// Where in the file the knobs are.
fn place(object: &[u8]) -> std::ops::Range<usize> {
    let file = object::File::parse(object).expect("the build has made an ELF file");
    let section = file.section_by_name(KNOBS).expect("every algorithm has knobs");
    let (at, size) = section.file_range().expect("they are data");
    let at = usize::try_from(at).expect("it is within the file");
    at..at + usize::try_from(size).expect("it is within the file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_bring_their_settings_along() {
        for (algorithm, name, bytes) in OBJECTS {
            let knobs = Settings::new(algorithm).knobs().unwrap();
            assert!(bytes[place(bytes)].iter().all(|&byte| byte == 0), "{name}");
            let filled = filled(bytes, &knobs);
            assert_eq!(filled[place(&filled)], knobs, "{name}");
            assert_ne!(filled, bytes, "{name}");
        }
    }

    #[test]
    fn a_window_in_place_of_a_rate_is_refused() {
        let mut settings = Settings::new(Algorithm::Timely);
        settings.set("window_rtt=1ms").unwrap();
        let error = settings.knobs().unwrap_err().to_string();
        assert!(error.contains("window_rtt: Linux TCP is paced; expected 0ns"), "{error}");
    }
}
