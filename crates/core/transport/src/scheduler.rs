//! The scheduler of traffic classes, at an egress port of a switch and in a NIC.
//!
//! A higher class goes before a lower one. Neighbours with weights share what the classes above
//! them leave, by deficit round robin (Shreedhar and Varghese, 1995). A class gets a quantum of
//! bytes when its turn comes, sends while its savings cover the next packet, and loses the rest
//! when it has nothing to send. Quanta are proportional to the weights and none is below the
//! largest packet, so every turn sends something.

/// A scheduler of traffic classes.
#[derive(Clone, Debug, Default)]
pub enum Scheduler {
    /// The highest class goes first.
    #[default]
    Strict,
    /// Some classes share.
    Weighted(Box<RoundRobin>),
}

/// Deficit round robin within each group of classes that share.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    classes: Box<[Share]>,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    /// The lowest and the highest class that share; both are the class itself if it has no weight.
    group: (u8, u8),
    quantum: u64,
    /// The bytes that the class may still send.
    deficit: u64,
    /// The class whose turn it is, kept at the lowest class of each group.
    turn: u8,
}

impl Scheduler {
    /// A scheduler for classes with these weights, from the lowest, and packets of up to `largest`
    /// bytes.
    pub fn new(weights: &[Option<u32>], largest: u64) -> Self {
        let (mut classes, mut first) = (Vec::with_capacity(weights.len()), 0);
        for group in weights.chunk_by(|a, b| a.is_some() && b.is_some()) {
            let last = first + u8::try_from(group.len() - 1).unwrap_or(u8::MAX);
            let least = group.iter().flatten().min().map_or(1, |&weight| u64::from(weight));
            classes.extend(group.iter().map(|weight| Share {
                group: (first, last),
                quantum: largest * weight.map_or(1, u64::from) / least,
                deficit: 0,
                turn: first,
            }));
            first = last + 1;
        }
        if classes.iter().all(|class| class.group.0 == class.group.1) {
            return Self::Strict;
        }
        Self::Weighted(Box::new(RoundRobin { classes: classes.into() }))
    }

    /// The class that sends next. `sendable`, not zero, has a bit for each class that may. `head`
    /// tells the size of a class's next packet, or a bound of it if [`give_back`](Self::give_back)
    /// follows.
    #[inline]
    pub fn next(&mut self, sendable: u8, head: impl Fn(u8) -> u64) -> u8 {
        debug_assert!(sendable != 0);
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        let highest = sendable.ilog2() as u8;
        match self {
            Self::Strict => highest,
            Self::Weighted(shares) => shares.next(highest, sendable, head),
        }
    }

    /// Gives `class` back the bytes by which its packet was shorter than [`next`](Self::next) was
    /// told.
    #[inline]
    pub fn give_back(&mut self, class: u8, bytes: u64) {
        if let Self::Weighted(shares) = self {
            shares.give_back(class, bytes);
        }
    }
}

impl RoundRobin {
    fn give_back(&mut self, class: u8, bytes: u64) {
        let share = &mut self.classes[class as usize];
        if share.group.0 != share.group.1 {
            share.deficit += bytes;
        }
    }

    fn next(&mut self, highest: u8, sendable: u8, head: impl Fn(u8) -> u64) -> u8 {
        let (first, last) = self.classes[highest as usize].group;
        if first == last {
            return highest;
        }
        loop {
            let turn = self.classes[first as usize].turn;
            let share = &mut self.classes[turn as usize];
            if sendable & 1 << turn == 0 {
                // Empty or paused: a class keeps nothing that it does not use now.
                share.deficit = 0;
            } else {
                let size = head(turn);
                if size <= share.deficit {
                    share.deficit -= size;
                    return turn;
                }
            }
            let next = if turn == last { first } else { turn + 1 };
            self.classes[first as usize].turn = next;
            let share = &mut self.classes[next as usize];
            share.deficit += share.quantum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that each of `weights` gets of `bytes` when all of `sendable` always have packets
    /// of the sizes given by class.
    fn shares(weights: &[Option<u32>], sizes: &[u64], sendable: u8, bytes: u64) -> Vec<u64> {
        let mut scheduler = Scheduler::new(weights, 1_500);
        let mut sent = vec![0; weights.len()];
        while sent.iter().sum::<u64>() < bytes {
            let class = scheduler.next(sendable, |class| sizes[class as usize]);
            sent[class as usize] += sizes[class as usize];
        }
        sent
    }

    #[test]
    fn without_weights_the_highest_has_all() {
        assert_eq!(shares(&[None; 3], &[100; 3], 0b111, 1_000), [0, 0, 1_000]);
        assert_eq!(shares(&[None; 3], &[100; 3], 0b011, 1_000), [0, 1_000, 0]);
        // A class with a weight and no neighbour to share with is like one without.
        assert_eq!(shares(&[Some(5), None], &[100; 2], 0b11, 1_000), [0, 1_000]);
    }

    #[test]
    fn neighbours_share_bytes_by_weight_whatever_their_packets() {
        // Weights 1, 2 and 5 of 8 million bytes: 1, 2 and 5 million, to within a quantum of each,
        // 1,500 times the weight over the least, and a packet.
        let weights = [Some(1), Some(2), Some(5)];
        for sizes in [[1_500; 3], [64, 1_500, 777], [1_500, 64, 64]] {
            let sent = shares(&weights, &sizes, 0b111, 8_000_000);
            for (sent, weight) in sent.into_iter().zip([1, 2, 5]) {
                let off = sent.abs_diff(weight * 1_000_000);
                assert!(off <= weight * 1_500 + 1_500, "weight {weight}: {sent} B of {sizes:?}");
            }
        }
    }

    #[test]
    fn shares_hold_where_the_size_is_known_only_afterwards() {
        let weights = [Some(1), Some(2), Some(5)];
        let sizes = [1_500, 64, 777];
        let (mut scheduler, mut sent) = (Scheduler::new(&weights, 1_500), [0; 3]);
        while sent.iter().sum::<u64>() < 8_000_000 {
            let class = scheduler.next(0b111, |_| 1_500);
            scheduler.give_back(class, 1_500 - sizes[class as usize]);
            sent[class as usize] += sizes[class as usize];
        }
        for (sent, weight) in sent.into_iter().zip([1, 2, 5]) {
            let off = sent.abs_diff(weight * 1_000_000);
            assert!(off <= weight * 1_500 + 3_000, "weight {weight}: {sent} B");
        }
    }

    #[test]
    fn shares_are_of_what_classes_above_leave_and_those_below_get_none() {
        let weights = [None, Some(3), Some(1), None];
        assert_eq!(shares(&weights, &[100; 4], 0b1111, 1_000), [0, 0, 0, 1_000]);
        let sent = shares(&weights, &[100; 4], 0b0111, 4_000_000);
        assert_eq!(sent[0] + sent[3], 0);
        assert!(sent[1].abs_diff(3_000_000) <= 3 * 1_500 + 100, "{sent:?}");
    }

    #[test]
    fn what_one_does_not_use_the_others_share_and_it_claims_nothing_back() {
        let weights = [Some(1); 3];
        let mut scheduler = Scheduler::new(&weights, 1_000);
        // Class 0 is silent for long, then all have packets.
        for _ in 0..1_000 {
            assert_ne!(scheduler.next(0b110, |_| 1_000), 0);
        }
        let mut sent = [0; 3];
        for _ in 0..30 {
            sent[scheduler.next(0b111, |_| 1_000) as usize] += 1;
        }
        assert!(sent.iter().all(|packets| (9..=11).contains(packets)), "{sent:?}");
    }
}
