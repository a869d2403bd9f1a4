//! A parameter that is on or off.

crate::words! {
    /// Whether a mechanism is at work.
    pub enum Switch {
        /// It is.
        On = "on",
        /// It is not.
        Off = "off",
    }
}

impl Switch {
    /// Whether it is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}
