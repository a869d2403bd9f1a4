//! Streams, their echoes and signals, against arithmetic.

use incast_sim::{Report, TraceConfig, Values, warnings};

use crate::closed_forms::{TEN, pair as one_message};
use crate::common::{ALL_TRACES, counts, document, numbers, ps, run_with, shipped, table, texts};

/// Two hosts, 10 Gb/s, 1 us per link; segments of 1,460 B and 40 B of headers take 1.2 us on the
/// wire, ACKs of 64 B 51.2 ns. An ACK for each segment, at once.
const PAIR: &str = r#"
    title = "two hosts"
    [run]
    duration = "2ms"
    schemes = ["line-rate"]
    [[network.star.hosts]]
    name = "host"
    count = 2
    rate = "10Gbps"
    delay = "1us"
    [transport]
    kind = "stream"
    ack_turnaround = "0us"
    ack_jitter = "0us"
    [transport.stream]
    delayed_ack = 1
    [[traffic]]
    kind = "connections"
    from = "host0"
    to = "host1"
"#;

/// A segment over two links, and its ACK back: 2 (1.2 + 1) + 2 (0.0512 + 1) us.
const BASE_RTT_PS: u64 = 6_502_400;

fn pair(assignments: &[&str]) -> Report {
    pair_under("line-rate", assignments)
}

fn pair_under(scheme: &str, assignments: &[&str]) -> Report {
    let document = document(PAIR).with_set(assignments).unwrap_or_else(|error| panic!("{error}"));
    run_with(&document, scheme, 1, ALL_TRACES)
}

#[test]
fn one_segment_at_a_time_takes_the_base_rtt_each() {
    let report = pair(&["transport.stream.send_buffer=1460B"]);
    let rtts = numbers(&report, "trace_flows", "rtt_us");
    assert!(rtts.len() > 300 && rtts.iter().all(|&rtt| ps(rtt) == BASE_RTT_PS), "{:?}", &rtts[..3]);
    // 1,460 B every 6.5024 us are 1.7963 Gb/s; the last one of 2 ms is on its way.
    assert!((report.summary.throughput_gbps - 1.7963).abs() < 0.01);
}

#[test]
fn traces_have_the_window_and_the_bytes_in_flight() {
    let report = pair_under("newreno", &["switch.buffer=100KB"]);
    let windows = numbers(&report, "trace_flows", "window_kb");
    let in_flight = numbers(&report, "trace_flows", "in_flight_kb");
    let shown: Vec<_> = texts(&report, "trace_gauges", "gauge")
        .iter()
        .zip(numbers(&report, "trace_gauges", "value"))
        .filter_map(|(gauge, &value)| (gauge.as_str() == "cwnd_kb").then_some(value))
        .collect();
    assert!(windows.len() > 300 && windows == shown, "{windows:?}");
    let most = windows.iter().fold(0.0, |most: f64, &window| most.max(window));
    assert!(in_flight.iter().all(|&kb| kb <= most), "{in_flight:?}");
    assert!(in_flight.iter().zip(windows).any(|(kb, window)| window - kb < 1.46));
    // A rate alone is no window, and one segment is in flight or none.
    let report = pair(&["transport.stream.send_buffer=1460B"]);
    assert!(numbers(&report, "trace_flows", "window_kb").iter().all(|window| window.is_nan()));
    let in_flight = numbers(&report, "trace_flows", "in_flight_kb");
    assert!(
        in_flight.iter().all(|kb| ["0", "1.46"].contains(&kb.to_string().as_str())),
        "{in_flight:?}"
    );
}

#[test]
fn buffers_cap_the_throughput_at_their_size_per_rtt() {
    // 128 KiB hold 89 segments of 1,460 B. 100 us per link: 89 x 1,460 B per 402.5024 us are 2.5827
    // Gb/s.
    let delays = ["network.star.hosts.0.delay=100us", "run.duration=40ms", "run.warmup=20ms"];
    for buffer in ["send_buffer", "receive_buffer"] {
        let buffer = format!("transport.stream.{buffer}=131072B");
        let [delay, duration, warmup] = delays;
        let report = pair(&[&buffer, delay, duration, warmup]);
        let throughput = report.summary.throughput_gbps;
        // 20 ms are 49.7 RTTs.
        assert!((throughput / 2.5827 - 1.0).abs() < 0.5 / 49.0, "{buffer}: {throughput}");
    }
}

/// From posted to delivered, in picoseconds.
fn completion(report: &Report) -> u64 {
    ps(numbers(report, "messages", "completion_us")[0])
}

#[test]
fn a_message_within_the_initial_window_takes_one_way() {
    // Five segments one after the other, then the last one over the second link.
    let message = "traffic.0.message=7300B";
    let one_way = 5 * 1_200_000 + 1_000_000 + 1_200_000 + 1_000_000;
    assert_eq!(completion(&pair_under("newreno", &[message])), one_way);
    // The handshake is headers of 40 B there and an ACK back.
    let exchange = 2 * (32_000 + 1_000_000) + 2 * (51_200 + 1_000_000);
    let opened = pair_under("newreno", &[message, "transport.stream.handshake=true"]);
    assert_eq!(completion(&opened), one_way + exchange);
}

#[test]
fn a_message_beyond_the_initial_window_waits_for_acks() {
    // Two segments, then one for the ACK of the first; the RTT is longer than two segments take.
    let settings = ["traffic.0.message=4380B", "transport.stream.initial_window=2"];
    let one_way = 1_200_000 + 1_000_000 + 1_200_000 + 1_000_000;
    assert_eq!(completion(&pair_under("newreno", &settings)), BASE_RTT_PS + one_way);
}

#[test]
fn delayed_acks_answer_two_segments_or_wait() {
    let acks = |report: &Report| {
        let kinds = texts(report, "trace_packets", "kind");
        let places = texts(report, "trace_packets", "place");
        kinds.iter().zip(places).filter(|(kind, place)| *kind == "ack" && *place == "host1").count()
    };
    let settings = ["traffic.0.message=8760B", "transport.stream.delayed_ack=2"]; // six segments
    assert_eq!(acks(&pair_under("newreno", &settings[..1])), 6);
    assert_eq!(acks(&pair_under("newreno", &settings)), 3);
    // A fifth segment is answered when the timeout of 500 us is over, so three ACKs too; its probe
    // comes later than that.
    let odd = ["traffic.0.message=7300B", "transport.stream.delayed_ack=2"];
    let report = pair_under("newreno", &odd);
    assert_eq!(acks(&report), 3);
    let times = numbers(&report, "trace_packets", "time_us");
    assert!(times.last().is_some_and(|&last| last > 500.0), "the last packet is that ACK");
}

#[test]
fn small_segments_and_mss_follow_the_scenario() {
    for (mss, wire) in [("536B", 576), ("1000B", 1_040), ("1460B", 1_500)] {
        let mss = format!("transport.stream.mss={mss}");
        let report = pair(&[&mss, "run.duration=50us"]);
        let bytes = counts(&report, "trace_packets", "bytes");
        assert_eq!(bytes.iter().max(), Some(&wire));
    }
}

#[test]
fn only_packets_that_say_so_are_marked() {
    let marking = ["switch.ecn_threshold=96850B", "run.duration=10ms", "run.warmup=5ms"];
    let document = shipped("tcp-incast", &marking);
    let marks = |scheme| run_with(&document, scheme, 1, TraceConfig::default()).summary.ecn_marks;
    assert_eq!(marks("newreno"), 0);
    assert!(marks("dctcp") > 100);
}

#[test]
fn notifications_come_at_most_once_per_interval_and_connection() {
    let settings = [
        "switch.ecn_threshold=96850B",
        "run.duration=4ms",
        "run.warmup=1ms",
        "transport.kind=message",
        "transport.stream.handshake=false",
        "transport.segment=16KB",
        "transport.cnp_interval=50us",
    ];
    let report = run_with(&shipped("tcp-incast", &settings), "dcqcn", 1, ALL_TRACES);
    let rows = table(&report, "trace_packets").columns.first().map(|column| column.values.len());
    let (times, kinds) =
        (numbers(&report, "trace_packets", "time_us"), texts(&report, "trace_packets", "kind"));
    let (places, to) =
        (texts(&report, "trace_packets", "place"), texts(&report, "trace_packets", "destination"));
    let mut last = std::collections::BTreeMap::new();
    let mut notifications = 0;
    for row in 0..rows.unwrap_or(0) {
        if kinds[row] != "cnp" || places[row] != "receiver" {
            continue;
        }
        notifications += 1;
        if let Some(before) = last.insert(to[row].clone(), times[row]) {
            // A turnaround without jitter: what leaves is as far apart as what arrived, but for an
            // ACK of 51.2 ns that went before.
            assert!(times[row] - before > 49.5, "{} us apart", times[row] - before);
        }
    }
    assert!(notifications > 100 && last.len() == 10, "{notifications} to {} hosts", last.len());
}

#[test]
fn signals_take_the_place_of_the_rtt() {
    // Swift holds the delay that it is told of at a target. The oracle tells the truth, so the
    // queue is the same, and steadier, since nothing of it is old. Noise of 0 to 20 us is 10 us on
    // average: that much less is left for the queue, 12.5 KB at 10 Gb/s.
    let queue = |settings: &[&str]| {
        let settings = [settings, &["transport.stream.delayed_ack=2"]].concat();
        let document = shipped("tcp-incast", &settings);
        let summary = run_with(&document, "swift", 1, TraceConfig::default()).summary;
        (summary.queue_mean_kb, summary.queue_p99_kb)
    };
    let (mean, p99) = queue(&[]);
    let (true_mean, true_p99) = queue(&["signal.kind=oracle"]);
    assert!((true_mean / mean - 1.0).abs() < 0.03, "{true_mean} KB for {mean}");
    assert!(true_p99 - true_mean < (p99 - mean) / 2.0, "{true_p99} KB for {p99}");
    let (noisy, _) = queue(&["signal.kind=rtt+noise", "signal.noise=20us"]);
    // Swift answers each sample and not their mean, so this is a matter of a few KB.
    assert!((mean - noisy - 12.5).abs() < 4.0, "{noisy} KB for {mean}");
    // Timestamps of an operating system add 5 us at least, 14 us in the middle.
    let (software, _) = queue(&["signal.kind=software-timestamps"]);
    assert!((mean - software - 14.0 * 1.25).abs() < 6.0, "{software} KB for {mean}");
}

#[test]
fn a_nic_that_is_one_queue_marks_what_waits_behind_more_than_its_threshold() {
    // Two streams of one host, whose NIC is the bottleneck. Nothing else marks, so DCTCP fills its
    // buffers of 128 KB each, 210 us at 10 Gb/s; with marks it stays near the threshold of 60 KB,
    // 49 us with its packets.
    let rtt = |settings: &[&str]| {
        let nic = [
            "traffic.0.connections=2",
            "run.duration=20ms",
            "transport.stream.send_buffer=128KB",
            "transport.nic=fifo",
        ];
        let document = document(PAIR).with_set(&[&nic[..], settings].concat());
        let document = document.unwrap_or_else(|error| panic!("{error}"));
        run_with(&document, "dctcp", 1, TraceConfig::default()).summary.rtt_mean_us
    };
    let (unmarked, marked) = (rtt(&[]), rtt(&["transport.nic_ecn_threshold=60KB"]));
    assert!((200.0..225.0).contains(&unmarked), "{unmarked} us");
    assert!((25.0..65.0).contains(&marked), "{marked} us");
}

#[test]
fn a_leaf_spine_path_has_four_links() {
    let text = PAIR.replace("[[network.star.hosts]]", "[network.leaf-spine]\nleaves = 2\nspines = 2\n\
        [network.leaf-spine.uplink]\nrate = \"40Gbps\"\ndelay = \"2us\"\n[network.leaf-spine.hosts]")
        .replace("count = 2", "count = 3")
        .replace("to = \"host1\"", "to = \"host3\"");
    let document =
        document(&text).with_set(&["transport.stream.send_buffer=1460B", "routing.kind=single"]);
    let document = document.unwrap_or_else(|error| panic!("{error}"));
    let report = run_with(&document, "line-rate", 1, ALL_TRACES);
    // 2 (1.2 + 1) + 2 (0.3 + 2) us there, 2 (0.0512 + 1) + 2 (0.0128 + 2) us back.
    let rtt = 2 * (1_200_000 + 1_000_000 + 300_000 + 2_000_000)
        + 2 * (51_200 + 1_000_000 + 12_800 + 2_000_000);
    let rtts = numbers(&report, "trace_flows", "rtt_us");
    assert!(!rtts.is_empty() && rtts.iter().all(|&us| ps(us) == rtt), "{:?}", rtts.first());
    // All of it over the first spine.
    let Values::Text(links) = &table(&report, "links").columns[0].values else { panic!("names") };
    let bytes = counts(&report, "links", "bytes");
    for (link, &bytes) in links.iter().zip(bytes) {
        assert!(!link.contains("spine1") || bytes == 0, "{link}: {bytes} B");
    }
}

#[test]
fn a_fan_out_of_one_gives_each_host_one_flow_to_another() {
    let document = shipped(
        "rtcp-over-subscription",
        &["run.duration=100us", "run.warmup=0us", "traffic.0.start_spread=10us"],
    );
    let report = run_with(&document, "newreno", 1, TraceConfig::default());
    let (from, to) = (texts(&report, "flows", "source"), texts(&report, "flows", "destination"));
    assert_eq!(from.len(), 96);
    assert!(from.iter().zip(to).all(|(from, to)| from != to));
    let distinct: std::collections::BTreeSet<_> = to.iter().collect();
    assert!(distinct.len() > 40, "drawn at random: {} destinations", distinct.len());
}

#[test]
fn messages_have_no_handshake_and_say_so() {
    let told = |transport: &str, more: &str, scheme: &str| {
        let document = document(&one_message(TEN, TEN, transport, &format!("{more}\n")));
        let scenario = document.scenario();
        let all = warnings(scenario, scheme, &scenario.scheme(scheme).unwrap());
        all.into_iter().find(|warning| warning.contains("handshake"))
    };
    let asked = "stream = { handshake = true }";
    let said = told(asked, "", "line-rate").unwrap();
    assert!(
        said.starts_with("line-rate: it sends messages, whose connections are open from the start")
            && said.contains("set it to false, or transport.kind to \"stream\""),
        "{said}"
    );
    let streams = format!("kind = \"stream\"\n{asked}");
    assert_eq!(told(&streams, "", "line-rate"), None);
    assert_eq!(told("stream = { handshake = false }", "", "line-rate"), None);
    // One scheme of the scenario alone sends messages.
    let own = "[cc.timely]\ntransport = \"message\"";
    assert!(told(&streams, own, "timely").is_some());
    assert_eq!(told(&streams, own, "line-rate"), None);
}
