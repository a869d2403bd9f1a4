//! Algorithms from elsewhere: of another crate, or of a program that has this one inside, such as
//! Python.

use alloc::boxed::Box;
use core::fmt;
use core::ops::Deref;

use crate::contract::{CongestionControl, Flow};
use crate::param::{Conflict, Info, Need, Param, SetError};

/// An algorithm with its parameters that this crate does not know.
pub trait GuestAlgorithm: Send + Sync {
    /// The description, with the name by which schemes ask for it.
    fn info(&self) -> &'static Info;

    /// The parameters; none by default.
    fn params(&self) -> &'static [Param] {
        &[]
    }

    /// The algorithm with the parameter `name` set to the value that `text` says.
    ///
    /// # Errors
    /// The parameter does not exist, or the text is no value for it.
    fn with(&self, name: &str, text: &str) -> Result<Guest, SetError> {
        let _ = (name, text);
        Err(SetError::Unknown)
    }

    /// Writes the value of the parameter `name`, in the form that [`with`](Self::with) reads.
    ///
    /// # Errors
    /// The parameter does not exist, or `out` failed.
    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = (name, out);
        Err(fmt::Error)
    }

    /// The needs that remain with these values.
    fn needs(&self) -> &'static [Need] {
        self.info().needs
    }

    /// Whether the size of bursts changes in the course of a flow.
    fn burst_varies(&self) -> bool {
        true
    }

    /// Whether the values fit together.
    ///
    /// # Errors
    /// The parameter at fault and why.
    fn check(&self) -> Result<(), Conflict> {
        Ok(())
    }

    /// A new flow.
    fn start(&self, flow: &Flow) -> Box<dyn GuestControl>;
}

/// A flow under an algorithm that this crate does not know.
pub trait GuestControl: CongestionControl + Send + Sync + fmt::Debug {
    /// A copy of the flow's state.
    fn copied(&self) -> Box<dyn GuestControl>;
}

impl<T: CongestionControl + Clone + Send + Sync + fmt::Debug + 'static> GuestControl for T {
    fn copied(&self) -> Box<dyn GuestControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn GuestControl> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A [`GuestAlgorithm`] that stays for good, so that it is passed on like any other algorithm.
#[derive(Clone, Copy)]
pub struct Guest(&'static dyn GuestAlgorithm);

impl Guest {
    /// Keeps an algorithm for as long as the process lives.
    pub fn keep(algorithm: impl GuestAlgorithm + 'static) -> Self {
        Self(Box::leak(Box::new(algorithm)))
    }

    /// Sets a parameter by name.
    ///
    /// # Errors
    /// The parameter does not exist, or the text is no value for it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        *self = self.0.with(name, text)?;
        Ok(())
    }
}

impl Deref for Guest {
    type Target = dyn GuestAlgorithm;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

/// Guests are equal if they are the same one: their values may be of any kind.
impl PartialEq for Guest {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0, other.0)
    }
}

impl Eq for Guest {}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guest").field(&self.info().name).finish()
    }
}
