//! Hints to the processor, which bring data into its caches before it is needed.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Brings the cache line in which `value` begins into the caches, and does not wait for it. On
/// processors other than `x86_64`, where Rust has no such hint, the value is read.
#[inline]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a hint reads nothing"))]
pub(crate) fn prefetch<T: Copy>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: The hint changes no value and never faults, and the address is valid anyway.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(*value);
}
