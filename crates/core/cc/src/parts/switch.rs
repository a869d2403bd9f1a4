//! A parameter that is on or off.

crate::words! {
    /// Whether a mechanism is at work.
    pub enum Switch {
        /// The mechanism is used.
        On = "on",
        /// The mechanism is not used.
        Off = "off",
    }
}

impl Switch {
    /// Whether it is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}
