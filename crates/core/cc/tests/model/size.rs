//! Flows lie in arrays whatever their algorithm, so the largest state of any is what each of them
//! takes.

use incast_cc::AnyControl;

/// Ten cache lines: the intervals that the two PCCs monitor take six of them.
#[test]
fn no_control_is_larger_than_640_bytes() {
    assert!(size_of::<AnyControl>() <= 640, "{} bytes", size_of::<AnyControl>());
}
