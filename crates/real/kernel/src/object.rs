//! Plain objects for loaders that know nothing of incast, such as `bpftool struct_ops register`:
//! the same programs, with the values of their knobs inside.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _};

use crate::algorithm::Settings;
use crate::attached::KNOBS;
use crate::{Error, Result};

/// Writes the objects of an algorithm with these settings to a directory, which is made if missing.
/// Returns their paths.
///
/// # Errors
/// The settings do not fit together, or the directory cannot be written.
///
/// # Panics
/// If the build has made an object without knobs.
pub fn write(settings: &Settings, directory: &Path) -> Result<Vec<PathBuf>> {
    let refused = |path: &Path, error: std::io::Error| {
        let place = format!("--out {}", path.display());
        Error::Unwritable { place, error }
    };
    settings.check()?;
    let knobs = settings.knobs()?;
    fs::create_dir_all(directory).map_err(|error| refused(directory, error))?;
    let mut written = Vec::new();
    for (name, bytes) in settings.algorithm().0.objects() {
        let path = directory.join(name);
        fs::write(&path, filled(bytes, &knobs)).map_err(|error| refused(&path, error))?;
        written.push(path);
    }
    Ok(written)
}

fn filled(object: &[u8], knobs: &[u8]) -> Vec<u8> {
    let mut filled = object.to_vec();
    filled[place(object)].copy_from_slice(knobs);
    filled
}

/// The range of the file that holds the knobs.
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
    use crate::algorithm::Algorithm;

    #[test]
    fn objects_bring_their_settings_along() {
        for algorithm in Algorithm::ALL {
            let knobs = Settings::new(algorithm).knobs().unwrap();
            for &(name, bytes) in algorithm.0.objects() {
                assert!(bytes[place(bytes)].iter().all(|&byte| byte == 0), "{name}");
                let filled = filled(bytes, &knobs);
                assert_eq!(filled[place(&filled)], knobs, "{name}");
                assert_ne!(filled, bytes, "{name}");
            }
        }
    }
}
