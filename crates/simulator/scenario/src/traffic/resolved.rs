//! Traffic in the resolved plan of a scenario.

/// A traffic of the resolved plan.
#[derive(Clone, Debug)]
pub struct ResolvedTraffic {
    /// The name that results use.
    pub name: String,
    /// The kind, such as `connections` or `requests`.
    pub kind: &'static str,
    /// The number of the traffic's class, 0 for the lowest.
    pub class: u8,
    /// The scheme of its flows, or of a share of them; the scheme of the run if absent.
    pub scheme: Option<String>,
    /// Whether some messages are posted when others have ended, at no time known before.
    pub waits: bool,
}
