//! The words of sender and switches that travel in a packet.

use incast_cc::{Feedback, Hop};

/// The words of sender and switches in a packet: a header that ports read and change, and the
/// stamps that they add (INT). Most packets have none, which takes one word and no memory. Memory
/// that was taken stays: [cleared](Self::clear) stamps serve another packet.
#[derive(Clone, Debug, Default)]
pub struct Stamps(Option<Box<Carried>>);

/// The content of [`Stamps`] that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Carried {
    feedback: Option<Feedback>,
    hops: Vec<Hop>,
}

impl Stamps {
    /// A packet without stamps and header.
    pub const NONE: Self = Self(None);
    const EMPTY: &'static Self = &Self::NONE;

    /// A packet with a header and without stamps.
    pub fn of(feedback: Feedback) -> Self {
        let mut stamps = Self::NONE;
        stamps.ask(feedback);
        stamps
    }

    /// Sets the header, of a packet that leaves its sender.
    pub fn ask(&mut self, feedback: Feedback) {
        self.0.get_or_insert_default().feedback = Some(feedback);
    }

    /// Takes out all words, and keeps the memory for those of another packet.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(Carried { feedback, hops }) = self.0.as_deref_mut() {
            *feedback = None;
            hops.clear();
        }
    }

    /// Adds the stamp of a port.
    #[inline]
    pub fn push(&mut self, hop: Hop) {
        self.0.get_or_insert_default().hops.push(hop);
    }

    /// The stamps of ports, first port first.
    #[inline]
    pub fn hops(&self) -> &[Hop] {
        self.0.as_ref().map_or(&[], |carried| &carried.hops)
    }

    /// The header, if there is one.
    #[inline]
    pub fn feedback(&self) -> Option<&Feedback> {
        self.0.as_ref()?.feedback.as_ref()
    }

    /// The header, for a port that changes it.
    pub fn feedback_mut(&mut self) -> Option<&mut Feedback> {
        self.0.as_mut()?.feedback.as_mut()
    }

    /// Whether the packet has neither stamps nor a header.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let carried = self.0.as_deref();
        carried.is_none_or(|carried| carried.hops.is_empty() && carried.feedback.is_none())
    }

    /// Whether there is memory for words.
    #[inline]
    pub const fn has_memory(&self) -> bool {
        self.0.is_some()
    }
}

impl PartialEq for Stamps {
    fn eq(&self, other: &Self) -> bool {
        (self.feedback(), self.hops()) == (other.feedback(), other.hops())
    }
}

impl Eq for Stamps {}

impl Default for &Stamps {
    fn default() -> Self {
        Stamps::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::feedback::Load;

    #[test]
    fn no_stamps_take_a_word() {
        assert_eq!(size_of::<Stamps>(), size_of::<usize>());
        assert!(Stamps::NONE.is_empty() && Stamps::NONE.hops().is_empty());
        assert_eq!(Stamps::NONE.feedback(), None);
    }

    #[test]
    fn a_packet_may_have_a_header_and_stamps() {
        let mut stamps = Stamps::of(Feedback::Load(Load::Low));
        stamps.push(Hop::default());
        if let Some(Feedback::Load(load)) = stamps.feedback_mut() {
            *load = Load::High;
        }
        assert_eq!((stamps.hops().len(), stamps.is_empty()), (1, false));
        assert_eq!(stamps.feedback(), Some(&Feedback::Load(Load::High)));
    }

    #[test]
    fn cleared_stamps_are_as_none_but_for_their_memory() {
        let mut stamps = Stamps::NONE;
        stamps.push(Hop::default());
        assert_ne!(stamps, Stamps::NONE);
        stamps.ask(Feedback::Load(Load::Low));
        stamps.clear();
        assert!(stamps.is_empty() && stamps.has_memory() && !Stamps::NONE.has_memory());
        assert_eq!(stamps, Stamps::NONE);
    }
}
