//! The head of a message, which tells the node of the peer what the message is.

use std::time::Duration;

/// The bytes of a head, before the body of each message.
pub(crate) const HEAD_BYTES: usize = 16;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A call, which wants a reply.
    Call = 1,
    /// The reply to a call.
    Reply = 2,
    /// A message that wants no reply.
    Note = 3,
    /// The refusal of a call, whose body says why.
    Refusal = 4,
    /// The end of a call whose caller no longer waits.
    Cancel = 5,
}

/// The place of a message among others to the same peer, and in the queues on its way. Those of one
/// place arrive in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Priority {
    /// High for short messages, low for long ones; the options say which are short.
    #[default]
    BySize = 0,
    /// Before all low ones.
    High = 1,
    /// Behind all high ones.
    Low = 2,
}

/// The terms of a call or a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The time after which nobody waits any more for the reply, or for the news that a note was
    /// delivered; the peer is told of it.
    pub patience: Option<Duration>,
    /// The place of the message among others. The reply to a call has the same.
    pub priority: Priority,
}

impl From<Option<Duration>> for Terms {
    fn from(patience: Option<Duration>) -> Self {
        Self { patience, ..Self::default() }
    }
}

impl From<Priority> for Terms {
    fn from(priority: Priority) -> Self {
        Self { priority, ..Self::default() }
    }
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// The place of the reply among other messages.
    pub(crate) priority: Priority,
    /// The time that the sender waits, in microseconds; zero for no bound.
    pub(crate) patience_us: u32,
    /// The call, by the number of the caller; zero for notes.
    pub(crate) call: u64,
}

impl Head {
    pub(crate) fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..2].copy_from_slice(&[self.kind as u8, self.priority as u8]);
        bytes[4..8].copy_from_slice(&self.patience_us.to_be_bytes());
        bytes[8..].copy_from_slice(&self.call.to_be_bytes());
        bytes
    }

    /// The head of a message; [`None`] if the message is too short for one, or of no known kind.
    pub(crate) fn decode(message: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD_BYTES] = message.first_chunk()?;
        let kind = match head[0] {
            1 => Kind::Call,
            2 => Kind::Reply,
            3 => Kind::Note,
            4 => Kind::Refusal,
            5 => Kind::Cancel,
            _ => return None,
        };
        let priority = match head[1] {
            0 => Priority::BySize,
            1 => Priority::High,
            2 => Priority::Low,
            _ => return None,
        };
        let [_, _, _, _, a, b, c, d, call @ ..] = *head;
        (head[2..4] == [0; 2]).then(|| Self {
            kind,
            priority,
            patience_us: u32::from_be_bytes([a, b, c, d]),
            call: u64::from_be_bytes(call),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_bad_ones_are_none() {
        let (kind, priority) = (Kind::Refusal, Priority::Low);
        let head = Head { kind, priority, patience_us: 1_500_000, call: u64::MAX - 1 };
        let mut bytes = head.encode().to_vec();
        assert_eq!(Head::decode(&bytes), Some(head));
        assert_eq!(Head::decode(&bytes[..15]), None);
        bytes[0] = 6;
        assert_eq!(Head::decode(&bytes), None);
        bytes[..2].copy_from_slice(&[1, 3]);
        assert_eq!(Head::decode(&bytes), None, "no such priority");
        bytes[..3].copy_from_slice(&[1, 0, 1]);
        assert_eq!(Head::decode(&bytes), None, "a reserved byte");
    }
}
