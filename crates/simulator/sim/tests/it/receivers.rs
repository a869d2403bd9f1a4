//! Slow receivers: hosts that take in less than their links bring.

use incast_sim::Report;

use crate::closed_forms::{HUNDRED, TEN, TEN_SHORT, completions, pair};
use crate::common::{counts, document, numbers, port, ps, run, texts};

/// A slow receiver.
fn slow(settings: &str) -> String {
    format!("[[receiver]]\nhosts = \"b\"\n{settings}\n")
}

const PFC: &str = "[switch.pfc]\nenabled = true\n";

fn refused(report: &Report) -> u64 {
    counts(report, "receivers", "drops").iter().sum()
}

#[test]
fn a_slow_receiver_takes_in_packet_by_packet() {
    // 65,760 B in 43 packets of 1,500 B and one of 1,260 B. The first is there after 120 ns, 1 us,
    // 1.2 us and 5 us; all are taken in at 3 Gb/s, 4 us each and 3.36 us.
    let first = 120_000 + 1_000_000 + 1_200_000 + 5_000_000;
    let expected = first + 43 * 4_000_000 + 3_360_000;
    for more in ["", PFC] {
        let own = slow("rate = \"3Gbps\"") + more;
        let report = run(&pair(HUNDRED, TEN, "", &format!("message = \"64KB\"\n{own}")));
        assert_eq!(completions(&report), [expected], "{more}");
        assert_eq!(ps(numbers(&report, "messages", "ideal_us")[0]), expected);
        assert_eq!(report.summary.drops, 0);
    }
}

#[test]
fn a_slow_receiver_pauses_its_switch_under_pfc_and_loses_nothing() {
    let own = slow("rate = \"2Gbps\"\nbuffer = \"60KB\"") + PFC;
    let report = run(&pair(TEN, TEN_SHORT, "", &own).replace("5ms", "20ms"));
    // 1,460 B of each 1,500 B, and what waited in the buffer when the run began or ends.
    let share = report.summary.throughput_gbps / (2.0 * 1_460.0 / 1_500.0);
    assert!((0.97..=1.0).contains(&share), "{share}");
    assert_eq!((report.summary.drops, refused(&report)), (0, 0));
    assert_eq!(report.summary.retransmissions, 0);
    let (sent, most) =
        (counts(&report, "receivers", "pauses_sent"), numbers(&report, "receivers", "max_kb"));
    assert!(sent[0] > 10, "{sent:?}");
    // The round trip of 2 us and 1.2 us of a packet under way at each end, at 10 Gb/s.
    assert!((60.0..=60.0 + 2.5 + 4.5).contains(&most[0]), "{most:?}");
    let links = texts(&report, "links", "link").iter().zip(numbers(&report, "links", "paused_us"));
    let paused: Vec<_> = links.filter(|(_, us)| **us > 0.0).map(|(name, _)| name).collect();
    assert!(paused.iter().any(|name| *name == "switch->b"), "{paused:?}");
}

#[test]
fn a_slow_receiver_drops_without_pfc() {
    let own = slow("rate = \"2Gbps\"\nbuffer = \"60KB\"");
    let report = run(&pair(TEN, TEN_SHORT, "", &own));
    let refused = refused(&report);
    assert_eq!((refused, report.summary.drops), (report.summary.drops, refused));
    // Of 10 Gb/s in 5 ms it takes in a fifth: some 833 of 4,167 packets, and 40 that wait.
    assert!((3_000..=3_400).contains(&refused), "{refused}");
    assert_eq!(counts(&report, "receivers", "pauses_sent"), [0]);
    assert_eq!(counts(&report, "queues", "drops")[port(&report, "switch->b")], 0);
}

#[test]
fn a_host_that_takes_in_nothing_for_a_time_pauses_its_switch_for_that_time() {
    // From 1 ms to 2 ms; its buffer of 125 KB is full 100 us later. After 2 ms it empties at the
    // rate of its link, so the pause ends with the first packets.
    let own = slow("rate = \"0bps\"\nstart = \"1ms\"\nstop = \"2ms\"\nbuffer = \"125KB\"") + PFC;
    let report = run(&pair(TEN, TEN_SHORT, "", &own));
    let row = texts(&report, "links", "link").iter().position(|name| name == "switch->b").unwrap();
    let paused = numbers(&report, "links", "paused_us")[row];
    assert!((895.0..=910.0).contains(&paused), "{paused}");
    assert_eq!((report.summary.drops, refused(&report)), (0, 0));
    assert_eq!(counts(&report, "receivers", "pauses_sent"), [1]);
    // 4 ms of 5 ms; what waited is caught up at the rate of the link.
    let share = report.summary.throughput_gbps / (10.0 * 1_460.0 / 1_500.0);
    assert!((0.79..=0.83).contains(&share), "{share}");
}

/// The PFC watchdog of the switch sees a host that pauses and takes in nothing.
#[test]
fn a_watchdog_reports_a_host_that_never_ends_its_pause() {
    let watchdog = format!("{PFC}watchdog = {{ after = \"500us\", action = \"drop\" }}\n");
    let report = run(&pair(TEN, TEN_SHORT, "", &(slow("rate = \"0bps\"") + &watchdog)));
    assert_eq!(report.summary.pfc_watchdog_reports, 1);
    assert_eq!(report.summary.deadlocks, 0, "a host waits for nobody");
    assert!(counts(&report, "queues", "drops_watchdog").iter().sum::<u64>() > 0);
}

#[test]
fn a_load_is_warned_of_that_a_slow_receiver_cannot_take_in() {
    let traffic = "[[traffic]]\nkind = \"poisson\"\nfrom = \"a\"\nto = \"b\"\nload = 0.5\n\
                   sizes = { fixed = \"10KB\" }\n";
    let warnings = |rate: &str| {
        let text = pair(TEN, TEN_SHORT, "", &(slow(&format!("rate = \"{rate}\"")) + traffic));
        document(&text).scenario().load_warnings()
    };
    assert_eq!(warnings("6Gbps"), Vec::<String>::new());
    let slower = warnings("4Gbps");
    assert!(slower[0].contains("asks b to receive 1.285 times what it takes in"), "{slower:?}");
}

/// 44 segments of a stream through a link that loses some, and the time that each of them which
/// comes after a gap costs its receiver.
#[test]
fn segments_after_a_gap_take_longer() {
    let run = |loss: &str, gap: &str| {
        let lossy = format!("[[link]]\nfrom = \"switch\"\nto = \"b\"\nloss = {loss}\n");
        let own = slow(&format!("rate = \"5Gbps\"\n{gap}")) + &lossy;
        let traffic = format!("message = \"64KB\"\n{own}");
        run(&pair(TEN, TEN, "kind = \"stream\"", &traffic))
    };
    let gap = "gap = \"20us\"";
    // Nothing is lost, nothing comes after a gap: no event moves.
    let [slow, plain] = [gap, ""].map(|gap| format!("{:?}", run("0.0", gap).tables));
    assert_eq!(slow, plain);
    let (with, without) = (run("0.05", gap), run("0.05", ""));
    let lost = without.summary.drops;
    let [with, without] = [with, without].map(|report| completions(&report)[0]);
    let later = with - without;
    assert!(lost > 0 && (20_000_000..=44 * 20_000_000).contains(&later), "{lost} lost: {later} ps");
}

#[test]
fn a_slow_receiver_sets_the_pace_of_a_ring_at_400_gbps() {
    // Four ranks reduce 8 MB: each takes in six chunks of 2 MB, in packets of 4,160 B with 4,096 B
    // of payload. The slow rank takes them in at 100 Gb/s, one after the other.
    let ring = |slow: &str| {
        let text = format!(
            "title = \"a ring\"\nrun = {{ duration = \"3ms\", schemes = [\"line-rate\"] }}\n\
             [network.star]\n\
             hosts = [{{ name = \"gpu\", count = 4, rate = \"400Gbps\", delay = \"500ns\" }}]\n\
             {slow}{PFC}[transport]\nmtu = \"4160B\"\nheader = \"64B\"\nsegment = \"4096B\"\n\
             [[traffic]]\nkind = \"collective\"\nfrom = \"gpu\"\n\
             collective = \"all-reduce\"\nsize = \"8MB\"\n"
        );
        let report = run(&text);
        assert_eq!(report.summary.drops, 0);
        let ended = numbers(&report, "requests", "completion_us");
        assert_eq!(ended.len(), 4);
        ended.iter().copied().fold(0.0, f64::max)
    };
    let wire = 2e6 / 4_096.0 * 4_160.0 * 8.0;
    let at = |gbps: f64| 6.0 * wire / (gbps * 1e3);
    let (fast, slow) =
        (ring(""), ring("[[receiver]]\nhosts = \"gpu2\"\nrate = \"100Gbps\"\nbuffer = \"1MB\"\n"));
    assert!((at(400.0)..at(400.0) * 1.06).contains(&fast), "{fast} {}", at(400.0));
    assert!((at(100.0)..at(100.0) * 1.06).contains(&slow), "{slow} {}", at(100.0));
}
