//! The kinds of networks by name.
//!
//! A new kind costs a line in `kinds.rs`. The settings in TOML, their checks, the JSON schema, the
//! wiring and the tests of all kinds follow from it.

use incast_plan::topology::Topology;
use incast_schema::{Fault, suggestion};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::NetworkKind;
use super::parts::Named;
use crate::input::Files;

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// The network: hosts, switches and links.
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum Network {
            $(
                #[schemars(description = <$type as NetworkKind>::SUMMARY)]
                $type($type),
            )+
        }

        /// The names of all kinds.
        pub const NETWORKS: &[&str] = &[$(<$type as NetworkKind>::NAME),+];

        /// The modules of all kinds, in the same order as the names.
        #[cfg(test)]
        pub(super) const MODULES: &[&str] = &[$(stringify!($module)),+];

        impl Network {
            /// The name of the kind, such as `star`.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$type(_) => <$type as NetworkKind>::NAME,)+ }
            }

            /// The hosts in the order of their numbers; see [`NetworkKind::groups`].
            pub(crate) fn groups(&self) -> Vec<Named<'_>> {
                match self { $(Self::$type(network) => network.groups(),)+ }
            }

            /// Adds the nodes and cables; see [`NetworkKind::build`].
            pub(super) fn build(&self, net: &mut Topology) {
                match self { $(Self::$type(network) => network.build(net),)+ }
            }

            /// Runs the checks of the kind. Errors have places in its own table.
            fn check_kind(&self) -> Result<(), Fault> {
                match self { $(Self::$type(network) => network.check(),)+ }
            }

            /// The network in the file that the kind names, if it names one.
            fn read_kind(&self, files: &mut Files) -> Result<Option<Self>, Fault> {
                match self { $(Self::$type(network) => network.read(files),)+ }
            }
        }
    };
}

networks!(registry);

impl Network {
    /// Finds mistakes that no single field shows.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.check_kind().map_err(|fault| self.within(fault))?;
        let hosts: u64 = self.groups().iter().map(|group| group.hosts()).sum();
        if hosts < 2 {
            return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
        }
        Ok(())
    }

    /// The network in the file that this network names, if it names one.
    pub(crate) fn read(&self, files: &mut Files) -> Result<Option<Self>, Fault> {
        self.read_kind(files).map_err(|fault| self.within(fault))
    }

    /// Turns a fault in the table of the kind into a fault of the scenario.
    fn within(&self, fault: Fault) -> Fault {
        fault.within(&[&"network", &self.kind()])
    }
}

/// Checks that a scenario names exactly one kind of network, and a known one. The parser only
/// counts kinds.
pub(crate) fn one_kind(scenario: &DeTable<'_>) -> Result<(), Fault> {
    let Some(DeValue::Table(network)) = scenario.get("network").map(Spanned::get_ref) else {
        return Ok(());
    };
    let kinds = || network.keys().map(|kind| kind.get_ref().as_ref());
    for kind in kinds() {
        if !NETWORKS.contains(&kind) {
            let message = format!("unknown network {kind:?}{}", suggestion(kind, NETWORKS));
            return Err(Fault::at([&"network", &kind], message));
        }
    }
    if network.len() > 1 {
        let mut kinds: Vec<_> = kinds().collect();
        kinds.sort_by_key(|kind| NETWORKS.iter().position(|known| known == kind));
        let message = format!("both {}; expected one of them", kinds.join(" and "));
        return Err(Fault::at([&"network", &kinds[kinds.len() - 1]], message));
    }
    Ok(())
}
