//! Structs that C and Rust share, and the skeletons that the build makes of `bpf/`.

/// The skeleton of `bpf/NAME.bpf.c`, as the module `skeleton`.
macro_rules! skeleton {
    ($name:ident) => {
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
        mod skeleton {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".skel.rs"));
        }
    };
}

/// Implements [`Shared`] for structs of C.
macro_rules! shared {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: a repr(C) struct of integers whose fields fill it.
        unsafe impl crate::shared::Shared for $type {}
    )+};
}

/// The key of the only entry of a map.
pub(crate) const FIRST: [u8; 4] = [0; 4];

/// A struct that is shared with C: integers and arrays of integers, without padding, valid with any
/// bits.
///
/// # Safety
/// The type has these properties.
pub(crate) unsafe trait Shared: Copy + Default {
    /// The bytes of this value.
    fn bytes(&self) -> &[u8] {
        // SAFETY: no padding, so that all bytes are initialised.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// The value that these bytes are, if there are enough of them.
    fn of(bytes: &[u8]) -> Option<Self> {
        // SAFETY: any bits are valid; read_unaligned needs no alignment.
        (bytes.len() >= size_of::<Self>())
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

shared!(Record, FlowEvent, Counters);

// intf.h asserts the same sizes.
const _: () = assert!(size_of::<Record>() == 2368);
const _: () = assert!(size_of::<FlowEvent>() == 80);
const _: () = assert!(size_of::<Counters>() == 48);

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
    pub(crate) settings: [u8; 2040],
    pub(crate) cgroup_id: u64,
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
            settings: [0; 2040],
            cgroup_id: 0,
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

/// Counts of all connections since the algorithm was attached (`struct counters` of intf.h).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Counters {
    /// Connections opened.
    pub opened: u64,
    /// Connections closed.
    pub closed: u64,
    /// RTT samples.
    pub samples: u64,
    /// ACKs without a sample: none was measured, or the receiver may have held the ACK back.
    pub skipped: u64,
    /// Loss episodes.
    pub losses: u64,
    /// Loss episodes that were undone, since packets had only come out of order.
    pub undone: u64,
}

/// The text in a field of C, without its zeros.
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

/// Puts a name into a field of C that is long enough for it.
pub(crate) fn put_name(field: &mut [i8; 16], name: &str) {
    field.fill(0);
    for (to, from) in field.iter_mut().zip(name.bytes()) {
        *to = i8::try_from(from).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_with_its_zero() {
        let mut field = [1; 4];
        assert!(put(&mut field, "abc"));
        assert_eq!(text(&field), "abc");
        assert!(!put(&mut field, "abcd"));
    }
}
