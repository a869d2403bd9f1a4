use super::*;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn mbps(mbps: u64) -> Rate {
    Rate::from_mbps(mbps)
}

/// A flow on 1 Gb/s with a message of `kb` and a deadline.
fn flow(params: D3, kb: u64, deadline_us: Option<u64>) -> D3Control {
    let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(1));
    flow.mss = Bytes::new(1_000);
    let mut control = params.start(&flow);
    let mut demand = Demand::new(us(0), Some(Bytes::from_kb(kb)));
    demand.deadline = deadline_us.map(us);
    control.on_demand(&demand);
    control
}

fn ask(control: &mut D3Control, at: u64) -> Option<Request> {
    match control.request(&Leaving::new(us(at)))? {
        Feedback::Request(request) => Some(request),
        other => panic!("{other:?}"),
    }
}

/// Answers `request` with these grants in Mb/s of ports 1, 2 and so on, after an RTT of 100 us.
fn answer(control: &mut D3Control, at: u64, request: &Request, grants: &[u64]) {
    let mut answered = *request;
    for (port, &grant) in (1..).zip(grants) {
        assert!(answered.granted.push(port, mbps(grant)));
    }
    let feedback = Feedback::Request(answered);
    let mut ack = Ack::new(us(at), us(at - 100), Bytes::new(1_000));
    (ack.srtt, ack.feedback) = (Span::from_us(100), Some(&feedback));
    control.on_ack(&ack);
}

fn pacing(control: &D3Control) -> Pacing {
    control.limits().pacing
}

#[test]
fn asks_for_the_rate_that_meets_the_deadline() {
    // 100 KB in 2 ms: 400 Mb/s.
    let mut control = flow(D3::default(), 100, Some(2_000));
    assert_eq!(control.limits().cwnd, Bytes::new(1_000), "a packet asks");
    let request = ask(&mut control, 0).unwrap();
    assert_eq!((request.desired, request.begins), (mbps(400), true));
    assert_eq!(ask(&mut control, 50), None, "a request is under way");
    answer(&mut control, 100, &request, &[900, 500]);
    assert_eq!(pacing(&control), Pacing::Rate(mbps(500)), "the least grant");
}

#[test]
fn a_request_gives_back_what_each_port_has_granted() {
    let mut control = flow(D3::default(), 100, Some(2_100));
    let first = ask(&mut control, 0).unwrap();
    answer(&mut control, 100, &first, &[900, 400]);
    control.on_sent(&Sent::new(us(100), Bytes::new(5_000), Bytes::new(5_000)));
    // Of 95 KB, 5 KB go until the answer comes. The others have 2 ms without two round trips.
    let request = ask(&mut control, 100).unwrap();
    assert_eq!((request.desired, request.previous), (mbps(400), first.desired));
    assert_eq!((request.held.of(1), request.held.of(2)), (Some(mbps(900)), Some(mbps(400))));
    assert!(!request.begins);
}

#[test]
fn near_the_deadline_a_round_trip_counts_as_a_third_of_the_time() {
    let mut control = flow(D3 { base_rate: mbps(10), ..D3::default() }, 5, Some(410));
    let request = ask(&mut control, 0).unwrap();
    answer(&mut control, 100, &request, &[80]);
    // Of 210 us, 700 B go in the first 70 us, and 4,300 B have the next 70 us.
    let near = ask(&mut control, 200).unwrap().desired;
    assert_eq!(near.as_bps() / 1_000, 491_428);
}

#[test]
fn the_oldest_deadline_stands_until_its_payload_is_sent() {
    let mut control = flow(D3::default(), 100, Some(2_000));
    let mut newer = Demand::new(us(0), Some(Bytes::from_kb(50)));
    newer.deadline = Some(us(1_000));
    control.on_demand(&newer);
    assert_eq!(ask(&mut control, 0).unwrap().desired, mbps(400), "the first message's");
    let mut ack = Ack::new(us(400), us(300), Bytes::new(60_000));
    (ack.srtt, ack.in_flight) = (Span::from_us(100), Bytes::new(10_000));
    ack.due = Some(Due { at: us(2_000), bytes: Bytes::new(40_000) });
    control.on_ack(&ack);
    // Data in flight counts as sent: 30 KB in 1.6 ms less two round trips.
    let mut stands = control;
    assert_eq!(ask(&mut stands, 400).unwrap().desired.as_bps() / 1_000, 171_428);
    // Nothing of it waits any more: the newest deadline, for all that does.
    control.on_sent(&Sent::new(us(400), Bytes::new(110_000), Bytes::new(110_000)));
    control.on_ack(&Ack { in_flight: Bytes::new(110_000), ..ack });
    assert_eq!(ask(&mut control, 400).unwrap().desired, mbps(800), "40 KB in 0.4 ms");
}

#[test]
fn a_flow_that_asks_later_than_it_told_begins_anew() {
    let mut control = flow(D3::default(), 100, None);
    let request = ask(&mut control, 0).unwrap();
    assert_eq!(request.again, Span::from_ms(8), "a packet at 1 Mb/s");
    answer(&mut control, 100, &request, &[500]);
    let mut later = control;
    let again = ask(&mut control, 16_000).unwrap();
    assert_eq!((again.begins, again.held.of(1)), (false, Some(mbps(500))));
    let again = ask(&mut later, 16_001).unwrap();
    assert_eq!((again.begins, again.held), (true, Grants::NONE));
}

#[test]
fn data_that_was_sent_after_a_request_and_arrives_without_its_answer_lets_the_flow_ask_again() {
    let mut control = flow(D3::default(), 100, None);
    assert!(ask(&mut control, 10).is_some());
    control.on_ack(&Ack::new(us(50), us(10), Bytes::new(1_000)));
    assert_eq!(ask(&mut control, 60), None, "the answer may still come");
    control.on_ack(&Ack::new(us(80), us(60), Bytes::new(1_000)));
    assert!(ask(&mut control, 80).is_some());
}

#[test]
fn a_flow_without_a_deadline_desires_nothing() {
    let mut control = flow(D3::default(), 100, None);
    assert_eq!(ask(&mut control, 0).unwrap().desired, Rate::ZERO);
}

#[test]
fn a_flow_without_a_grant_comes_down_to_the_base_rate() {
    let mut control = flow(D3 { base_rate: mbps(15), ..D3::default() }, 1_000, None);
    // 8,000 bits in 100 us are 80 Mb/s.
    for (round, expected) in (0_u64..).zip([80, 40, 20, 15, 15]) {
        let request = ask(&mut control, round * 1_000).unwrap();
        answer(&mut control, round * 1_000 + 100, &request, &[0]);
        assert_eq!(pacing(&control), Pacing::Rate(mbps(expected)));
    }
    let request = ask(&mut control, 9_000).unwrap();
    // A packet of 8,000 bits at 15 Mb/s takes 533 us, and its answer 100 us.
    assert_eq!(request.again.as_ns() / 1_000, 633);
    answer(&mut control, 9_100, &request, &[16]);
    assert_eq!(pacing(&control), Pacing::Rate(mbps(16)), "what is granted");
    let mut control = flow(D3 { base_rate: Rate::ZERO, ..D3::default() }, 1_000, None);
    for round in 0..3 {
        let request = ask(&mut control, round * 1_000).unwrap();
        answer(&mut control, round * 1_000 + 100, &request, &[0]);
        assert_eq!(pacing(&control), Pacing::Rate(mbps(80)));
    }
}

#[test]
fn the_last_packet_gives_all_back() {
    let mut control = flow(D3::default(), 100, Some(2_000));
    let request = ask(&mut control, 0).unwrap();
    answer(&mut control, 100, &request, &[900]);
    let mut last = Leaving::new(us(900));
    last.is_last = true;
    let Some(Feedback::Request(request)) = control.request(&last) else { panic!("no request") };
    assert!(request.ends);
    assert_eq!((request.previous, request.held.of(1)), (mbps(400), Some(mbps(900))));
    assert_eq!(control.request(&last), None, "ports know it no more");
    assert_eq!(flow(D3::default(), 1, None).request(&last), None, "they never did");
}

#[test]
fn nothing_is_asked_whose_answer_comes_too_late() {
    let mut control = flow(D3::default(), 10, None);
    let request = ask(&mut control, 0).unwrap();
    // 800 Mb/s send 10 KB in a round trip.
    answer(&mut control, 100, &request, &[800]);
    assert_eq!(ask(&mut control, 100), None);
}

#[test]
fn a_deadline_out_of_reach_is_given_up_as_the_parameter_says() {
    // 1 MB in 2 ms would take 4 Gb/s, of a link of 1 Gb/s.
    let late = |quit| flow(D3 { quit, ..D3::default() }, 1_000, Some(2_000));
    assert_eq!(ask(&mut late(Quit::Share), 0).unwrap().desired, Rate::ZERO);
    assert_eq!(ask(&mut late(Quit::Never), 0).unwrap().desired, Rate::from_gbps(1));
    assert_eq!(ask(&mut late(Quit::Never), 3_000).unwrap().desired, Rate::ZERO, "it is over");
    let mut quits = late(Quit::Base);
    assert_eq!(ask(&mut quits, 0), None, "ports have not heard of it");
    assert_eq!(ask(&mut quits, 1_999), None);
    assert!(matches!(pacing(&quits), Pacing::Rate(_)), "and it delivers all the same");
    quits.on_loss(&Loss::new(us(1_000), us(100), Bytes::new(1_000), LossCause::Timeout));
    assert!(matches!(pacing(&quits), Pacing::Rate(_)), "silence changes nothing");
    assert_eq!(ask(&mut quits, 2_000).unwrap().desired, Rate::ZERO, "the deadline is over");
}

#[test]
fn a_flow_that_has_quit_sends_its_last_packet_at_the_base_rate_and_asks_for_the_next_message() {
    let mut control = flow(D3 { quit: Quit::Base, ..D3::default() }, 1_000, Some(2_000));
    assert_eq!(ask(&mut control, 0), None);
    let all = Bytes::from_kb(1_000);
    control.on_sent(&Sent::new(us(100), all, all));
    let mut last = Leaving::new(us(100));
    last.is_last = true;
    assert_eq!(control.request(&last), None, "it holds nothing");
    assert!(matches!(pacing(&control), Pacing::Rate(_)), "and stays at the base rate");
    control.on_demand(&Demand::new(us(200), Some(Bytes::from_kb(1))));
    assert_eq!(pacing(&control), Pacing::Unpaced, "a packet asks");
    assert!(ask(&mut control, 200).is_some());
}

#[test]
fn a_request_whose_answer_is_late_is_not_asked_again() {
    let mut control = flow(D3::default(), 1_000, None);
    let request = ask(&mut control, 0).unwrap();
    answer(&mut control, 100, &request, &[500]);
    assert!(ask(&mut control, 100).is_some());
    assert_eq!(ask(&mut control, 10_000), None, "a queue may have grown a hundredfold");
}

#[test]
fn silence_is_answered_with_one_packet() {
    let mut control = flow(D3::default(), 1_000, None);
    let request = ask(&mut control, 0).unwrap();
    answer(&mut control, 100, &request, &[500]);
    control.on_loss(&Loss::new(us(200), us(100), Bytes::new(1_000), LossCause::Detected));
    assert_eq!(control.limits().cwnd, Bytes::MAX);
    control.on_loss(&Loss::new(us(9_000), us(100), Bytes::new(1_000), LossCause::Timeout));
    assert_eq!(control.limits().cwnd, Bytes::new(1_000));
    let again = ask(&mut control, 9_000).unwrap();
    assert_eq!(again.held.of(1), Some(mbps(500)), "ports get back what they gave");
}
