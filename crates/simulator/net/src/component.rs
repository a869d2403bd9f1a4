//! Components: the parts of nodes that have events.

/// A part of a node that has events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    pub(crate) kind: ComponentKind,
    /// The number of the host or switch.
    pub(crate) node: u32,
    /// The link, if the component is its far end.
    pub(crate) link: u32,
    pub(crate) port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    HostChange,
    HostStart,
    HostInterval,
    HostPort,
    HostArrival,
    HostTimer,
    /// The link of a slow host's NIC is free.
    SlowPort,
    /// An arrival at a slow host.
    SlowArrival,
    /// A slow host takes a packet in that has waited.
    Intake,
    /// A message leaves a host for its island, or arrives from there.
    Island,
    SwitchChange,
    SwitchInterval,
    SwitchWatchdog,
    SwitchPort,
    SwitchArrival,
}

impl ComponentKind {
    /// Whether the component is a part of a host.
    pub(crate) const fn is_of_host(self) -> bool {
        use ComponentKind::{
            HostArrival, HostChange, HostInterval, HostPort, HostStart, HostTimer, Intake, Island,
            SlowArrival, SlowPort,
        };
        let of_some = matches!(self, SlowPort | SlowArrival | Intake | Island);
        of_some
            || matches!(
                self,
                HostChange | HostStart | HostInterval | HostPort | HostArrival | HostTimer
            )
    }
}
