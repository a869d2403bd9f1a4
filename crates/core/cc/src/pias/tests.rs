use super::*;
use crate::units::Rate;
use std::vec::Vec;

const MSS: u64 = 1_000;

fn control(pias: &Pias) -> PiasControl {
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::from_kb(10));
    pias.start(&flow)
}

/// Thresholds at 10, 20, ... 70 KB.
fn tens() -> Pias {
    let mut pias = Pias::default();
    for (number, name) in (1..).zip(NAMES) {
        pias.set(name, &std::format!("{}KB", 10 * number)).unwrap();
    }
    pias
}

/// The level of the packet `offset` bytes into a message that begins at `begin`.
fn level(control: &PiasControl, begin: u64, offset: u64) -> u8 {
    let mut place = Place::new(Bytes::new(offset), None);
    place.start = Bytes::new(begin + offset);
    control.level(&place)
}

fn ack(bytes: u64, delivered: u64) -> Ack<'static> {
    let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(bytes));
    ack.delivered = Bytes::new(delivered);
    ack
}

/// A timeout that declares two bursts lost.
fn time_out(control: &mut PiasControl, us: u64, cause: LossCause) {
    let now = Time::ZERO + Span::from_us(us);
    for _ in 0..2 {
        control.on_loss(&Loss::new(now, Time::ZERO, Bytes::new(MSS), cause));
    }
}

#[test]
fn each_threshold_that_a_message_has_passed_costs_a_class() {
    let control = control(&tens());
    // At a threshold itself a packet is still in the class above it.
    let levels: Vec<_> = [0, 10_000, 10_001, 20_000, 20_001, 45_000, 70_000, 70_001, 1 << 50]
        .map(|offset| level(&control, 0, offset))
        .into();
    assert_eq!(levels, [0, 0, 1, 1, 2, 4, 6, 7, 7]);
}

#[test]
fn each_message_counts_on_its_own() {
    let control = control(&tens());
    assert_eq!(level(&control, 1_000_000, 0), 0);
    assert_eq!(level(&control, 1_000_000, 15_000), 1);
}

#[test]
fn fewer_classes_take_the_first_thresholds() {
    let control = control(&Pias { classes: 3, ..tens() });
    assert_eq!([5_000, 15_000, 25_000, 99_000].map(|at| level(&control, 0, at)), [0, 1, 2, 2]);
    let [many, few] = [8, 3].map(|classes| Pias { classes, ..tens() }.needs()[1]);
    assert_eq!((many, few), (Need::Classes(8), Need::Classes(3)));
}

#[test]
fn three_timeouts_in_a_row_let_the_count_start_anew_behind_what_has_arrived() {
    let mut control = control(&tens());
    control.on_ack(&ack(65_000, 65_000));
    time_out(&mut control, 1, LossCause::Timeout);
    time_out(&mut control, 2, LossCause::Persistent);
    assert_eq!(level(&control, 0, 65_000), 6, "two timeouts, of two bursts each");
    control.on_ack(&ack(1_000, 66_000));
    time_out(&mut control, 3, LossCause::Timeout);
    time_out(&mut control, 4, LossCause::Persistent);
    assert_eq!(level(&control, 0, 66_000), 6, "an ACK came between");
    time_out(&mut control, 5, LossCause::Persistent);
    // 66 KB have arrived: the next byte counts as the first. 76 KB is 10 KB behind it.
    assert_eq!([66_000, 76_000, 76_001].map(|at| level(&control, 0, at)), [0, 0, 1]);
    // A message that begins later counts from its own begin.
    assert_eq!(level(&control, 200_000, 15_000), 1);
}

#[test]
fn losses_that_acks_tell_of_are_no_timeouts() {
    let mut control = control(&tens());
    (1..=9).for_each(|us| time_out(&mut control, us, LossCause::Detected));
    assert_eq!(level(&control, 0, 65_000), 6);
}

#[test]
fn a_pause_lets_the_count_start_anew() {
    let mut control = control(&tens());
    control.on_ack(&ack(65_000, 65_000));
    control.on_restart(Time::ZERO, Span::from_us(499));
    assert_eq!(level(&control, 0, 65_000), 6);
    control.on_restart(Time::ZERO, Span::from_us(500));
    assert_eq!(level(&control, 0, 65_000), 0);
}

#[test]
fn the_window_is_that_of_dctcp() {
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::from_kb(64));
    let (mut pias, mut dctcp) = (Pias::default().start(&flow), Dctcp::default().start(&flow));
    for n in 1..200_u64 {
        let mut ack = ack(MSS, n * MSS);
        (ack.end, ack.next) = (Bytes::new(n * MSS), Bytes::new(n * MSS + 64_000));
        (ack.round, ack.cwnd_limited) = (n / 64, true);
        ack.ce_bytes = Bytes::new(if n % 7 == 0 { MSS } else { 0 });
        pias.on_ack(&ack);
        dctcp.on_ack(&ack);
        assert_eq!(pias.limits(), dctcp.limits(), "ACK {n}");
    }
}

#[test]
fn thresholds_that_do_not_rise_are_refused() {
    let mut pias = tens();
    pias.threshold5 = pias.threshold4;
    let conflict = pias.check().unwrap_err();
    assert_eq!((conflict.name, conflict.other), ("threshold5", "threshold4"));
    pias.classes = 5; // four thresholds
    assert_eq!(pias.check(), Ok(()));
}

#[test]
fn presets_are_the_published_packets_of_1460_bytes() {
    let preset = |name| {
        let preset = Pias::PRESETS.iter().find(|preset| preset.name == name).unwrap();
        let mut pias = Pias::default();
        for (param, value) in preset.values {
            pias.set(param, value).unwrap();
        }
        pias.thresholds().map(Bytes::get)
    };
    let web = [909, 1_329, 1_648, 1_960, 2_143, 2_337, 2_484];
    assert_eq!(preset("web-search-0.8"), web.map(|packets| packets * 1_460));
    let mining = [745, 1_083, 1_391, 13_689, 14_936, 21_149, 27_245];
    assert_eq!(preset("data-mining-0.8"), mining.map(|packets| packets * 1_460));
}
