//! A flow's state lies in an array of flows, whatever its algorithm: the largest one sets the stride.

use incast_cc::AnyControl;

#[test]
fn no_control_is_larger_than_600_bytes() {
    assert!(size_of::<AnyControl>() <= 600, "{} bytes", size_of::<AnyControl>());
}
