use super::*;
use crate::ComponentKind;
use incast_cc::parts::random::Random;
use std::collections::BTreeSet;

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

#[test]
fn simultaneous_events_come_in_the_order_of_their_numbers() {
    let mut calendar = Calendar::new(4, 1.0);
    for id in [2, 0, 3, 1] {
        calendar.schedule(id, at(1_000_000));
    }
    let order: Vec<_> = std::iter::from_fn(|| calendar.pop_before(at(u64::MAX))).collect();
    assert_eq!(order, (0..4).map(|id| (at(1_000_000), id)).collect::<Vec<_>>());
}

#[test]
fn nothing_comes_at_the_end_or_after() {
    let mut calendar = Calendar::new(1, 1.0);
    calendar.schedule(0, at(100));
    assert_eq!(calendar.pop_before(at(100)), None);
    assert_eq!(calendar.pop_before(at(101)), Some((at(100), 0)));
    assert_eq!(calendar.pop_before(at(u64::MAX)), None);
}

#[test]
fn what_was_moved_away_and_back_comes_once() {
    let mut calendar = Calendar::new(2, 1.0);
    for ps in [100, 5_000_000, 100, 50_000_000_000, 5_000_000, 100] {
        calendar.schedule(0, at(ps));
    }
    assert_eq!((calendar.next_due(), calendar.due(0)), (at(100), at(100)));
    assert_eq!(calendar.pop_before(at(u64::MAX)), Some((at(100), 0)));
    assert_eq!((calendar.next_due(), calendar.due(0)), (at(u64::MAX), at(u64::MAX)));
    // Schedule once more for this very instant, where old entries are still listed.
    calendar.schedule(0, at(100));
    assert_eq!(calendar.pop_before(at(u64::MAX)), Some((at(100), 0)));
    assert_eq!(calendar.pop_before(at(u64::MAX)), None);
}

/// A component that is put off is listed anew only when its old time is looked at. Here that
/// happens when the calendar turns to another component's later time. From then on it is listed
/// under the new time, and can be moved back.
#[test]
fn what_was_put_off_beyond_the_calendar_can_be_moved_nearer() {
    let ms = |ms: u64| at(ms * 1_000_000_000);
    let mut calendar = Calendar::new(2, 1.0);
    calendar.schedule(0, ms(1_000));
    calendar.schedule(0, ms(1_200));
    calendar.schedule(1, ms(999));
    assert_eq!(calendar.pop_before(ms(2_000)), Some((ms(999), 1)));
    calendar.schedule(0, ms(1_100));
    assert_eq!((calendar.next_due(), calendar.due(0)), (ms(1_100), ms(1_100)));
    assert_eq!(calendar.pop_before(ms(2_000)), Some((ms(1_100), 0)));
    assert_eq!(calendar.pop_before(ms(2_000)), None);
}

/// Compares `next_due` with all due times, near and far, with stale entries in the current
/// slot, in lists and in the heap.
#[test]
fn next_due_is_the_first_of_all() {
    let mut calendar = Calendar::new(8, 1.0);
    let (mut due, mut now, mut random) = ([u64::MAX; 8], 0, Random::new(5));
    for step in 0..50_000 {
        let id = random.below(8);
        let gaps = [0, 300, 70_000, 9_000_000, 4_000_000_000, 90_000_000_000];
        let gap = gaps[random.below(6) as usize];
        due[id as usize] = if random.below(8) == 0 { u64::MAX } else { now + gap };
        calendar.schedule(id, at(due[id as usize]));
        let first = *due.iter().min().unwrap_or(&u64::MAX);
        assert_eq!(calendar.next_due(), at(first), "at step {step}");
        if random.below(4) == 0 && first < u64::MAX {
            let (when, id) = calendar.pop_before(at(u64::MAX)).unwrap();
            assert_eq!(when, at(first));
            (now, due[id as usize]) = (first, u64::MAX);
        }
    }
}

/// Compares the calendar with an ordered map, over gaps from nothing to far beyond the last
/// slot, with events moved and removed.
#[test]
fn agrees_with_an_ordered_map() {
    [1.0, 200.0, 1e9].into_iter().for_each(agrees_when_so_many_are_due);
}

fn agrees_when_so_many_are_due(per_us: f64) {
    let components = 50_u32;
    let mut calendar = Calendar::new(components as usize, per_us);
    let (mut model, mut when) = (BTreeSet::new(), vec![None; components as usize]);
    let (mut now, mut random) = (0_u64, 0x9E37_79B9_7F4A_7C15_u64);
    let mut next_random = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for step in 0..200_000 {
        for _ in 0..2 {
            #[expect(clippy::cast_possible_truncation, reason = "below the components")]
            let id = (next_random() % u64::from(components)) as u32;
            if let Some(at) = when[id as usize].take() {
                model.remove(&(at, id));
            }
            if next_random() % 10 == 0 {
                calendar.schedule(id, Time::MAX);
                continue;
            }
            let gap = next_random() >> (24 + next_random() % 40);
            let at = now + if next_random() % 8 == 0 { 0 } else { gap };
            calendar.schedule(id, Time::from_ps(at));
            when[id as usize] = Some(at);
            model.insert((at, id));
        }
        let expected = model.pop_first();
        let got = calendar.pop_before(at(u64::MAX)).map(|(at, id)| (at.as_ps(), id));
        assert_eq!(got, expected, "at step {step}");
        if let Some((at, id)) = got {
            now = at;
            when[id as usize] = None;
        }
    }
}

/// Components of switches, so many of each.
fn nodes_of(sizes: &[u16]) -> Vec<Component> {
    let of = |(node, &size): (u32, &u16)| {
        let kind = ComponentKind::SwitchPort;
        (0..size).map(move |port| Component { kind, node, link: 0, port })
    };
    (0..).zip(sizes).flat_map(of).collect()
}

/// Lets random events of nodes of all sizes schedule others: own components for any later time,
/// components of other nodes for times after the window. Compares each event with ordered maps, one
/// for each node, and what a window leaves behind.
fn nodes_take_turns(window: Span, between_looks: Option<Span>, gaps: [u64; 4]) {
    let components = nodes_of(&[1, 3, 8, 40, 2, 130]);
    let lengths = WindowLengths { most: window, between_looks };
    let slots = Calendar::new(components.len(), 1.0);
    let mut calendar = slots.changed(&components, Some(lengths), at(7));
    let (mut model, mut when) = (vec![BTreeSet::new(); 6], vec![None; components.len()]);
    let mut random = Random::new(31);
    let (mut until, mut turn, mut windows, mut looks) = (7, 0, 0, 0);
    for step in 0..200_000 {
        let first = model.iter().filter_map(BTreeSet::first).map(|&(at, _)| at).min();
        if step % 7 == 0 {
            assert_eq!(calendar.next_due(), at(first.unwrap_or(u64::MAX)), "at step {step}");
        }
        let got = calendar.pop_before(at(u64::MAX)).map(|(at, id)| (at.as_ps(), id));
        assert_eq!(got.is_some(), first.is_some(), "at step {step}");
        if let Some((now, id)) = got {
            let node = components[id as usize].node as usize;
            let end = calendar.window_end().unwrap().as_ps();
            if end != until {
                let start = first.unwrap();
                assert!(until <= start && start < end && end - start <= window.as_ps());
                if let Some(period) = between_looks.map(Span::as_ps) {
                    assert!(
                        start % period == 0 && end == start + 1
                            || start / period == (end - 1) / period
                    );
                    looks += u32::from(start % period == 0);
                }
                (until, turn, windows) = (end, 0, windows + 1);
            }
            let before = &model[turn.min(node)..node];
            assert!(turn <= node, "at step {step}: the turn of {node} after that of {turn}");
            assert!(before.iter().all(|own| own.first().is_none_or(|&(at, _)| at >= until)));
            assert_eq!(model[node].pop_first(), Some((now, id)), "at step {step}");
            assert!(now < until);
            (turn, when[id as usize]) = (node, None);
        }
        let now = got.map_or(until, |(now, _)| now);
        for _ in 0..random.below(4) {
            let id = random.below(u32::try_from(components.len()).unwrap());
            let node = components[id as usize].node as usize;
            if let Some(at) = when[id as usize].take() {
                model[node].remove(&(at, id));
            }
            let gap = gaps[random.below(4) as usize];
            let gap = random.bits() % (gap + 1);
            let due = if got.is_some() && node == turn { now } else { until } + gap;
            if random.below(8) == 0 {
                calendar.schedule(id, Time::MAX);
            } else {
                calendar.schedule(id, at(due));
                when[id as usize] = Some(due);
                model[node].insert((due, id));
            }
            assert_eq!(calendar.due(id), at(when[id as usize].unwrap_or(u64::MAX)));
        }
    }
    assert!(windows > 100 && (looks > 100 || between_looks.is_none()), "{windows}, {looks}");
}

#[test]
fn nodes_take_turns_in_windows() {
    let gaps = [0, 3_000, 900_000, 40_000_000_000];
    nodes_take_turns(Span::from_us(1), None, gaps);
    nodes_take_turns(Span::from_us(4_000), None, gaps);
    nodes_take_turns(Span::from_ps(1), None, [0, 1, 2, 50]);
}

#[test]
fn windows_end_where_some_event_looks_at_several_nodes() {
    let period = Some(Span::from_ps(2_500_000));
    nodes_take_turns(Span::from_us(1), period, [0, 3_000, 900_000, 9_000_000]);
    nodes_take_turns(Span::from_us(9), period, [0, 3_000, 900_000, 9_000_000]);
    nodes_take_turns(Span::from_ps(3), Some(Span::from_ps(1)), [0, 1, 2, 50]);
    nodes_take_turns(Span::from_ps(30), Some(Span::from_ps(7)), [0, 1, 20, 50]);
}

/// A calendar is asked for events before some time, as where a run is to stop: it goes on from
/// there, in the middle of a turn or between two windows.
#[test]
fn windows_end_where_the_run_does() {
    let components = nodes_of(&[2, 2]);
    let lengths = WindowLengths { most: Span::from_ps(100), between_looks: None };
    let mut calendar = Calendar::new(4, 1.0).changed(&components, Some(lengths), Time::ZERO);
    for (id, ps) in [(0, 10), (1, 60), (2, 20), (3, 109)] {
        calendar.schedule(id, at(ps));
    }
    assert_eq!(calendar.pop_before(at(10)), None);
    assert_eq!(calendar.pop_before(at(50)), Some((at(10), 0)));
    assert_eq!(calendar.window_end(), Some(at(50)));
    assert_eq!(calendar.pop_before(at(50)), Some((at(20), 2)));
    assert_eq!(calendar.pop_before(at(50)), None);
    assert_eq!(calendar.next_due(), at(60));
    assert_eq!(calendar.pop_before(at(500)), Some((at(60), 1)));
    assert_eq!(calendar.window_end(), Some(at(160)));
    assert_eq!(calendar.pop_before(at(500)), Some((at(109), 3)));
    assert_eq!(calendar.pop_before(at(500)), None);
    assert_eq!(calendar.next_due(), at(u64::MAX));
}
