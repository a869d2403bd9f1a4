//! The skeletons that the build makes of `bpf/`, and plain structs as bytes.

macro_rules! skeleton {
    ($($name:ident)+) => {$(
        #[allow(
            missing_docs,
            unreachable_pub,
            unused_qualifications,
            dead_code,
            clippy::all,
            clippy::pedantic,
            clippy::allow_attributes_without_reason,
            clippy::undocumented_unsafe_blocks,
            reason = "generated"
        )]
        pub(crate) mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".skel.rs"));
        }
    )+};
}

skeleton!(timely rtcp dctcp cgroup mark twin);

/// A struct that is shared with C: integers and arrays of them, without padding, any bits good.
///
/// # Safety
/// The type is all that.
pub(crate) unsafe trait Shared: Copy + Default {
    /// Its bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: no padding, so that all bytes are initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// The value of these bytes, if they are as many.
    fn of(bytes: &[u8]) -> Option<Self> {
        // SAFETY: any bits are good; read_unaligned needs no alignment.
        (bytes.len() >= size_of::<Self>())
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

macro_rules! shared {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: a repr(C) struct of integers whose fields fill it.
        unsafe impl Shared for $type {}
    )+};
}

shared!(
    timely::types::timely_knobs,
    rtcp::types::rtcp_knobs,
    dctcp::types::dctcp_knobs,
    timely::types::counters,
    twin::types::twin_setup,
    twin::types::twin_event,
    twin::types::twin_answer,
    Record,
    FlowEvent,
);

/// `struct record` of intf.h.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) algorithm: [u8; 16],
    pub(crate) name: [u8; 16],
    pub(crate) previous_default: [u8; 16],
    pub(crate) attached_at_s: u64,
    pub(crate) ops_map_id: u32,
    pub(crate) cgroup_program_id: u32,
    pub(crate) cgroup: [u8; 256],
    pub(crate) settings: [u8; 2048],
}

impl Default for Record {
    fn default() -> Self {
        Self {
            algorithm: [0; 16],
            name: [0; 16],
            previous_default: [0; 16],
            attached_at_s: 0,
            ops_map_id: 0,
            cgroup_program_id: 0,
            cgroup: [0; 256],
            settings: [0; 2048],
        }
    }
}

/// `struct flow_event` of intf.h.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct FlowEvent {
    pub(crate) time_ns: u64,
    pub(crate) rate_bps: u64,
    pub(crate) rtt_ns: u64,
    pub(crate) gauge: i64,
    pub(crate) counter: u64,
    pub(crate) cwnd_segments: u32,
    pub(crate) in_flight_segments: u32,
    pub(crate) retransmissions: u32,
    pub(crate) branch: u32,
    pub(crate) remote_address: [u8; 16],
    pub(crate) family: u16,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) state: u16,
}

/// Text in a field of C, without its zeros.
pub(crate) fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Puts text into a field of C, with a zero behind it; false if it does not fit.
#[must_use]
pub(crate) fn put(field: &mut [u8], text: &str) -> bool {
    field.fill(0);
    let fits = text.len() < field.len();
    if fits {
        field[..text.len()].copy_from_slice(text.as_bytes());
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn incast_sizes(sizes: *mut u64);
    }

    #[test]
    fn structs_are_as_large_as_in_c() {
        let mut sizes = [0; 2];
        // SAFETY: it writes two numbers.
        unsafe { incast_sizes(sizes.as_mut_ptr()) };
        assert_eq!(sizes, [size_of::<Record>() as u64, size_of::<FlowEvent>() as u64]);
    }

    #[test]
    fn text_fits_with_its_zero() {
        let mut field = [1; 4];
        assert!(put(&mut field, "abc"));
        assert_eq!(text(&field), "abc");
        assert!(!put(&mut field, "abcd"));
    }
}
