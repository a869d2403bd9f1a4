//! Large pages for the memory of a large network, where Linux gives them to those who ask.
//!
//! The data of a large network lies on more pages than a processor knows at a time, and each packet
//! touches a dozen of them. With pages of 2 MB it knows them all. Large pages are a matter of the
//! whole process, so no run asks for them by itself: a front does, which has the process to itself.
//! Results do not change.

use std::ops::Range;

use crate::Simulation;

/// The size of a large page.
const PAGE: usize = 2 << 20;
/// The fewest hosts of a network that gains by large pages.
const FEWEST_HOSTS: usize = 512;

/// The wish for large pages, during one run.
#[derive(Debug)]
pub struct LargePages {
    /// The events after which memory has grown by little since the last time; [`None`] where
    /// nothing is asked for.
    next: Option<u64>,
}

impl LargePages {
    /// The wish of a process that runs `simulation`. A small network has none, and nobody has where
    /// Linux gives large pages to all or to none.
    pub fn of(simulation: &Simulation) -> Self {
        let asks = simulation.hosts() >= FEWEST_HOSTS && is_up_to_processes();
        Self { next: asks.then_some(0) }
    }

    /// Asks for large pages, if the run has handled so many events more that its memory has grown.
    /// To be called between two calls of [`Simulation::advance`].
    pub fn ask(&mut self, simulation: &Simulation) {
        let events = simulation.events();
        if self.next.is_some_and(|next| events >= next) {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            maps.lines().filter_map(memory).for_each(advise);
            self.next = Some(events + (events / 8).max(1 << 20));
        }
    }
}

/// Whether Linux gives large pages to processes that ask for them, and to no others.
fn is_up_to_processes() -> bool {
    let choice = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    cfg!(target_os = "linux") && choice.is_ok_and(|choice| choice.contains("[madvise]"))
}

/// The large pages that fit a line of `/proc/self/maps`, if it is of memory that was allocated.
fn memory(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (addresses, rights, _, _) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (file, name) = (words.next()?, words.next());
    let is_allocated = rights == "rw-p" && file == "0" && matches!(name, None | Some("[heap]"));
    let (start, end) = addresses.split_once('-')?;
    let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).ok());
    let pages = start?.next_multiple_of(PAGE)..end? / PAGE * PAGE;
    (is_allocated && !pages.is_empty()).then_some(pages)
}

/// Asks for large pages in place of small ones, now and when the rest is first used. Where there
/// are none at the moment, nothing happens.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "advice on pages, whose content stays")]
fn advise(pages: Range<usize>) {
    /// The advice to make pages that are in use large at once, which Linux takes since 6.1. Not
    /// every C library has its name.
    const MADV_COLLAPSE: i32 = 25;
    let start = std::ptr::without_provenance_mut(pages.start);
    for advice in [libc::MADV_HUGEPAGE, MADV_COLLAPSE] {
        // SAFETY: Both leave the content of all pages as it is. Where a page is no longer mapped,
        // or the advice is not known, the call fails.
        unsafe { libc::madvise(start, pages.len(), advice) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: Range<usize>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocated_memory_is_told_from_files_stacks_and_gaps() {
        let found = |line: &str| memory(line).map(|pages| (pages.start, pages.end));
        let heap = "55d0c0123000-55d0c0a01000 rw-p 00000000 00:00 0                  [heap]";
        assert_eq!(found(heap), Some((0x55d0_c020_0000, 0x55d0_c0a0_0000)));
        let mapped = "7f0000000000-7f0004000000 rw-p 00000000 00:00 0 ";
        assert_eq!(found(mapped), Some((0x7f00_0000_0000, 0x7f00_0400_0000)));
        for other in [
            "7f0000000000-7f0000200000 r--p 00000000 fe:00 1234   /usr/lib/libc.so.6",
            "7f0000000000-7f0004000000 rw-p 00000000 fe:00 1234   /usr/lib/libc.so.6",
            "7f0000000000-7f0004000000 ---p 00000000 00:00 0 ",
            "7ffc00000000-7ffc04000000 rw-p 00000000 00:00 0      [stack]",
            "7f0000100000-7f0000300000 rw-p 00000000 00:00 0 ",
            "7f00001",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
