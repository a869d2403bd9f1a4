//! The inputs that fuzzing has kept, and the scenarios that ship: each is read, or refused as was
//! promised.

#[path = "../../../../../fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use targets::TARGETS;

use crate::common::repository;

#[test]
fn what_was_found_is_read_or_refused() {
    for (name, target) in TARGETS {
        let corpus = repository("fuzz/corpus").join(name);
        let folders =
            if name == "scenario" { vec![corpus, repository("scenarios")] } else { vec![corpus] };
        for folder in folders {
            let files: Vec<_> = std::fs::read_dir(&folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
                .collect();
            assert!(!files.is_empty(), "{} is empty", folder.display());
            for path in files {
                let data = std::fs::read(&path).unwrap();
                let read = catch_unwind(AssertUnwindSafe(|| target(&data)));
                assert!(read.is_ok(), "{name}: {}", path.display());
            }
        }
    }
}
