//! Rings: what is on a link, as both of its ends know it.

use super::prefetch::prefetch;

/// The values on a link, in order. The far end takes them from the front. From `waiting` on they
/// have not started by the sender's books. Positions count values, modulo 2^32.
///
/// The far end may be before the sender's books: it may have taken values that still wait by the
/// books. They keep their places until they have started.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<T> {
    /// The places for values; their number is a power of two.
    places: Box<[T]>,
    /// The number of places less one.
    mask: u32,
    front: u32,
    waiting: u32,
    end: u32,
}

impl<T: Copy> Ring<T> {
    /// A ring without values; `nothing` fills its places.
    pub(crate) fn new(nothing: T) -> Self {
        Self { places: Box::new([nothing; 4]), mask: 3, front: 0, waiting: 0, end: 0 }
    }

    #[inline]
    fn at(&self, position: u32) -> &T {
        &self.places[(position & self.mask) as usize]
    }

    #[inline]
    fn at_mut(&mut self, position: u32) -> &mut T {
        &mut self.places[(position & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.front == self.end
    }

    /// The first value of a ring that is not empty.
    #[inline]
    pub(crate) fn first(&self) -> &T {
        debug_assert!(!self.is_empty());
        self.at(self.front)
    }

    /// The first value, if there is one.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(self.at(self.front)) }
    }

    /// Takes the first value of a ring that is not empty.
    #[inline]
    pub(crate) fn take_first(&mut self) -> T {
        let first = *self.first();
        self.front = self.front.wrapping_add(1);
        first
    }

    /// Adds a value that waits.
    #[expect(clippy::inline_always, reason = "a value is long, and is made where it stays")]
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        if self.len().max(self.waits()) > self.mask {
            self.grow();
        }
        *self.at_mut(self.end) = value;
        self.end = self.end.wrapping_add(1);
    }

    /// The value that was added last.
    pub(crate) fn last_mut(&mut self) -> &mut T {
        self.at_mut(self.end.wrapping_sub(1))
    }

    /// The value that was added last, unless the far end has taken it.
    pub(crate) fn last(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(self.at(self.end.wrapping_sub(1))) }
    }

    /// Takes the value that was added last off a ring that is not empty, and on which none waits.
    pub(crate) fn take_last(&mut self) {
        debug_assert!(!self.is_empty() && self.waits() == 0);
        self.end = self.end.wrapping_sub(1);
        self.waiting = self.end;
    }

    /// Starts all values that wait.
    #[inline]
    pub(crate) fn start_all(&mut self) {
        self.waiting = self.end;
    }

    /// The number of values that the far end has not taken.
    #[inline]
    fn len(&self) -> u32 {
        self.end.wrapping_sub(self.front)
    }

    /// The number of values that wait by the sender's books.
    #[inline]
    pub(crate) fn waits(&self) -> u32 {
        self.end.wrapping_sub(self.waiting)
    }

    /// Whether the first value, if there is one, waits by the sender's books.
    #[inline]
    pub(crate) fn all_wait(&self) -> bool {
        self.len() <= self.waits()
    }

    /// The first value that waits, if there is one.
    #[inline]
    pub(crate) fn first_waiting(&self) -> Option<&T> {
        if self.waits() == 0 { None } else { Some(self.at(self.waiting)) }
    }

    /// Starts the first of the values that wait.
    #[inline]
    pub(crate) fn start_first(&mut self) -> T {
        debug_assert!(self.waits() > 0);
        let first = *self.at(self.waiting);
        self.waiting = self.waiting.wrapping_add(1);
        first
    }

    /// Takes back the last value that waits. The far end has taken none that waits.
    pub(crate) fn take_back(&mut self) -> Option<T> {
        debug_assert!(self.waits() <= self.len(), "the far end has values that come back");
        if self.waits() == 0 {
            return None;
        }
        self.end = self.end.wrapping_sub(1);
        Some(*self.at(self.end))
    }

    #[cold]
    fn grow(&mut self) {
        let filler = self.places[0];
        let more = vec![filler; self.places.len() * 2].into();
        let old = Self { places: std::mem::replace(&mut self.places, more), ..*self };
        self.mask = self.mask * 2 + 1;
        for back in 1..=self.len().max(self.waits()) {
            let position = self.end.wrapping_sub(back);
            *self.at_mut(position) = *old.at(position);
        }
    }

    /// The values that the far end has not taken.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|ahead| self.at(self.front.wrapping_add(ahead)))
    }

    /// Changes the values that the far end has not taken.
    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for ahead in 0..self.len() {
            change(self.at_mut(self.front.wrapping_add(ahead)));
        }
    }

    /// Brings the positions into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        prefetch(&self.front);
    }

    /// The place of the next value that is added.
    #[inline]
    pub(crate) fn place_of_end(&self) -> &T {
        self.at(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Compares the ring with plain queues, over positions that wrap around and rings that grow.
    /// The far end may take values before they have started; only what it has left is taken back.
    #[test]
    fn a_ring_keeps_what_either_end_still_needs() {
        let start = u32::MAX - 20;
        let mut ring = Ring { front: start, waiting: start, end: start, ..Ring::new(0) };
        let (mut travelling, mut waiting) = (VecDeque::new(), VecDeque::new());
        let mut random = 1_u64;
        for value in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for _ in 0..random >> 32 & 3 {
                assert_eq!(ring.first_waiting(), waiting.front());
                if let Some(expected) = waiting.pop_front() {
                    assert_eq!(ring.start_first(), expected);
                }
            }
            if random >> 63 == 0 {
                let most = if value / 1_000 % 2 == 0 { 7 } else { 1 };
                for _ in 0..random >> 40 & most {
                    assert_eq!(ring.front(), travelling.front());
                    if let Some(expected) = travelling.pop_front() {
                        assert_eq!(ring.take_first(), expected);
                    }
                }
                assert_eq!(ring.all_wait(), travelling.len() <= waiting.len());
            } else if random >> 61 == 7 && waiting.len() <= travelling.len() {
                assert_eq!(ring.take_back(), waiting.pop_back());
                travelling.truncate(ring.len() as usize);
            } else {
                ring.push(value);
                travelling.push_back(value);
                waiting.push_back(value);
            }
            assert_eq!(ring.waits() as usize, waiting.len());
            assert!(ring.iter().eq(&travelling));
        }
        assert!(ring.places.len() > 16, "it has grown");
        ring.for_each_mut(|value| *value += 1);
        assert!(
            ring.iter().eq(travelling.iter().map(|value| value + 1).collect::<Vec<_>>().iter())
        );
    }
}
