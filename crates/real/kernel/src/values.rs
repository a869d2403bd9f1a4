//! The values of parameters, both of an algorithm and of its program alone.

use incast_cc::param::SetError;
use incast_cc::registry::AnyAlgorithm;
use incast_cc::units::Rate;

use crate::param::{self, KernelParam};
use crate::{Error, Result};

/// The values of all parameters of one program.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// The algorithm's parameters.
    pub(crate) law: AnyAlgorithm,
    /// The program's own parameters, each with its value.
    pub(crate) own: Vec<(KernelParam, String)>,
}

impl Values {
    /// The defaults of an algorithm and of its program's own parameters.
    pub(crate) fn new(law: AnyAlgorithm, own: &[KernelParam]) -> Self {
        let own = own.iter().map(|param| (*param, param.default.to_owned())).collect();
        Self { law, own }
    }

    /// Sets a parameter of the program's own. Returns whether there is one of this name.
    ///
    /// # Errors
    /// The text is no value for it.
    pub(crate) fn set_own(&mut self, name: &str, value: &str) -> Result<bool> {
        let Some((_, text)) = self.own.iter_mut().find(|(param, _)| param.name == name) else {
            return Ok(false);
        };
        param::rate(value).map_err(|reason| invalid(name, value, reason))?;
        value.clone_into(text);
        Ok(true)
    }

    /// A rate among the program's own parameters.
    pub(crate) fn rate(&self, name: &str) -> Result<Rate> {
        let found = self.own.iter().find(|(param, _)| param.name == name);
        let (_, text) = found.unwrap_or_else(|| unreachable!("the program declares {name}"));
        param::rate(text).map_err(|reason| invalid(name, text, reason))
    }
}

/// The error that `value` does not fit the parameter `name`.
pub(crate) fn invalid(name: &str, value: &str, reason: SetError) -> Error {
    Error::InvalidValue { name: name.to_owned(), value: value.to_owned(), reason }
}
