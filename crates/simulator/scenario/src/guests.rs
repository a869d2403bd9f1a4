//! Algorithms from elsewhere, by the names that schemes have for them.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use incast_cc::AnyAlgorithm;
use incast_cc::guest::Guest;

static KNOWN: RwLock<BTreeMap<&'static str, Guest>> = RwLock::new(BTreeMap::new());

/// The reason why an algorithm gets no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuestError {
    /// An algorithm of this project has the name.
    #[error("an algorithm is called {0} already; choose another name")]
    Taken(&'static str),
    /// The name would be read as something else in a scheme.
    #[error("{0:?} is no name of an algorithm: expected letters, digits, -, _, ., : and /")]
    Name(&'static str),
}

/// Makes an algorithm known to all scenarios of this process, by its name. One from elsewhere that
/// had the name before is forgotten.
///
/// A name may say where the algorithm comes from, as `module:Class` and `tree:FILE` do.
///
/// # Errors
/// The name is taken, or has other characters than letters, digits, `-`, `_`, `.`, `:` and `/`.
pub fn make_known(algorithm: Guest) -> Result<(), GuestError> {
    let name = algorithm.info().name;
    let family = name.split(':').next().unwrap_or(name);
    if AnyAlgorithm::named(family).is_some() {
        return Err(GuestError::Taken(family));
    }
    let fits = |c: char| c.is_alphanumeric() || "-_.:/".contains(c);
    if name.is_empty() || !name.chars().all(fits) {
        return Err(GuestError::Name(name));
    }
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(name, algorithm);
    Ok(())
}

/// The algorithm of a name, of this project or from elsewhere.
pub(crate) fn algorithm(name: &str) -> Option<AnyAlgorithm> {
    AnyAlgorithm::named(name).or_else(|| {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied().map(AnyAlgorithm::Guest)
    })
}

/// Whether an algorithm from elsewhere has this name.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).contains_key(name)
}

/// The names of all algorithms from elsewhere.
pub(crate) fn names() -> Vec<&'static str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
}
