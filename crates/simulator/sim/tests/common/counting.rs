//! An allocator that counts the bytes in use, and all that were ever asked for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with the bytes in use and their maximum.
pub(crate) struct Counting {
    used: AtomicUsize,
    peak: AtomicUsize,
    asked: AtomicUsize,
}

impl Counting {
    pub(crate) const fn new() -> Self {
        Self { used: AtomicUsize::new(0), peak: AtomicUsize::new(0), asked: AtomicUsize::new(0) }
    }

    /// Bytes in use, as they were asked for.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// The maximum of bytes in use since the last call.
    pub(crate) fn take_peak(&self) -> usize {
        self.peak.swap(self.used(), Relaxed)
    }

    /// All bytes that were asked for so far, in use or not.
    #[allow(dead_code, reason = "an example counts the bytes in use alone")]
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.asked.fetch_add(bytes, Relaxed);
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(used, Relaxed);
    }
}

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}
