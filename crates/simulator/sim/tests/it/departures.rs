//! Marks at departure, compared with arithmetic.

use incast_sim::{Report, TraceConfig};

use super::closed_forms::{HUNDRED, TEN, pair};
use crate::common::{document, run, run_with, shipped};

/// RED that marks what leaves more than `threshold` behind; the rest are other settings of it.
fn step(threshold: &str, rest: &str) -> String {
    format!(
        "aqm = {{ kind = \"red\", min = \"{threshold}\", max = \"{threshold}\", weight = 1, \
         gentle = false, drop = false, at = \"departure\"{rest} }}"
    )
}

/// The marks of this switch where one host on 100 Gb/s sends 20 packets of 1,000 B at once into 10
/// Gb/s.
fn marks(switch: &str) -> u64 {
    let transport = "mtu = \"1000B\"\nheader = \"40B\"";
    let scenario = pair(HUNDRED, TEN, transport, "message = \"19200B\"");
    run(&format!("{scenario}\n[switch]\n{switch}")).summary.ecn_marks
}

#[test]
fn marks_are_exactly_on_what_leaves_more_than_the_threshold_behind() {
    // Packet i (from 1) arrives (i - 1) * 80 ns after the first, which leaves at once. The second
    // leaves 800 ns later, as the eleventh arrives (the port comes first), and leaves 3 to 10
    // behind. When the third leaves, after 1,600 ns, all have arrived. So what they leave is
    //     0, 8, 17 (i = 3), 16, ..., 1, 0 (i = 20) packets of 1,000 B.
    for (threshold, expected) in [
        ("17000B", 0),
        ("16999B", 1), // the third
        ("9000B", 8),  // 3 to 10
        ("8000B", 9),
        ("7999B", 11), // the second and 12, too
        ("1000B", 17),
        ("999B", 18), // all but the first and the last
        ("1B", 18),
    ] {
        let plain = format!("ecn_threshold = \"{threshold}\"\necn_at = \"departure\"");
        assert_eq!(marks(&plain), expected, "{threshold}");
        assert_eq!(marks(&format!("{plain}\necn_scope = \"port\"")), expected, "{threshold}");
        assert_eq!(marks(&step(threshold, "")), expected, "{threshold} of RED");
        let class = format!("[[class]]\nname = \"data\"\necn_threshold = \"{threshold}\"");
        let class = format!("ecn_at = \"arrival\"\n{class}\necn_at = \"departure\"");
        assert_eq!(marks(&class), expected, "{threshold} of a class");
    }
}

#[test]
fn thresholds_of_red_are_for_links_of_its_rate() {
    // As above, by a tenth at 10 Gb/s.
    for (threshold, expected) in [("170KB", 0), ("169990B", 1), ("80KB", 9), ("79990B", 11)] {
        let red = step(threshold, ", rate = \"100Gbps\"");
        assert_eq!(marks(&red), expected, "{threshold}");
    }
}

#[test]
fn all_queues_of_a_port_count_where_the_scope_is_the_port() {
    // Two hosts with ten packets each in classes that take turns. All twenty have arrived before
    // the second leaves and 18 are left, then 17 and so on; of each class half as many.
    let marks = |scope: &str| {
        let host = |name: &str| format!("[[network.star.hosts]]\nname = \"{name}\"\n{HUNDRED}\n");
        let traffic = |from: &str| {
            format!(
                "[[traffic]]\nkind = \"connections\"\nfrom = \"{from}\"\nto = \"b\"\nclass = \
                 \"{from}\"\nmessage = \"9600B\"\ncount = 1\n"
            )
        };
        let text = format!(
            "title = \"two\"\n[run]\nduration = \"1ms\"\nschemes = [\"line-rate\"]\n{}{}\
             [[network.star.hosts]]\nname = \"b\"\n{TEN}\n[[class]]\nname = \"a\"\nweight = 1\n\
             [[class]]\nname = \"c\"\nweight = 1\n[transport]\nmtu = \"1000B\"\nheader = \"40B\"\n\
             [switch]\necn_threshold = \"8999B\"\necn_at = \"departure\"\necn_scope = \"{scope}\"\n\
             {}{}",
            host("a"),
            host("c"),
            traffic("a"),
            traffic("c")
        );
        run(&text).summary.ecn_marks
    };
    assert_eq!(marks("port"), 10, "what leaves 18 to 9 packets");
    assert_eq!(marks("queue"), 1, "what leaves 9 of its own: the first of them that waited");
}

#[test]
fn a_step_of_red_is_the_threshold_to_the_packet() {
    let incast = |settings: &[&str]| {
        run_with(&shipped("tcp-incast", settings), "dctcp", 1, TraceConfig::default())
    };
    let red = format!("switch.{}", step("96850B", "").replacen(" = ", "=", 1));
    let threshold = ["switch.ecn_threshold=96850B", "switch.ecn_at=departure"];
    let (red, departure, arrival) = (incast(&[&red]), incast(&threshold), incast(&threshold[..1]));
    assert!(departure.summary.ecn_marks > 1_000, "or it shows nothing");
    // As text, because "not a number" equals nothing.
    let all = |report: &Report| format!("{:?} {:?}", report.summary, report.tables);
    assert!(all(&red) == all(&departure));
    assert_ne!(arrival.summary.ecn_marks, departure.summary.ecn_marks);
}

/// The queue, in KB, at which `flows` flows of DCQCN rest on a link of 40 Gb/s: the fixed point of
/// Zhu and others (CoNEXT 2016, section 3.1), not of their fluid but from one CNP to the next.
///
/// A flow of R packets per us gets its next CNP when CNPs may come again and a packet is marked, so
/// after tau + E with E exponential of mean 1 / (p R). Of timers of T, which start anew at each
/// CNP, n run out before it:
/// ```text
/// P(n >= k) = exp(-p R (k T - tau))
/// alpha = g m / (1 - (1 - g) m),  m = E((1 - g)^n)                 what decays and rises is equal
/// d(0) = R alpha / 2,  d(n) = d(n - 1) / 2           up to the fifth, then (d(n - 1) + R_AI) / 2
/// E(max(n - 5, 0) R_AI - d(n)) = 0                   what is cut and recovered is equal
/// q = Kmin + p (Kmax - Kmin) / Pmax
/// ```
/// The byte counter plays no part: 10 MB take ten times as long as from one CNP to the next.
fn queue_at_rest(flows: u32) -> f64 {
    const TAU: f64 = 50.0; // us
    const TIMER: f64 = 55.0;
    const GAIN: f64 = 1.0 / 256.0;
    const INCREASE: f64 = 0.005; // 40 Mb/s
    let rate = 5.0 / f64::from(flows); // packets of 1,000 B
    let gain_of_a_cycle = |p: f64| {
        let reach = |k: i32| {
            if k == 0 { 1.0 } else { (-p * rate * (f64::from(k) * TIMER - TAU)).exp() }
        };
        let of = |k: i32| reach(k) - reach(k + 1);
        let kept: f64 = (0..20_000).map(|k| of(k) * (1.0 - GAIN).powi(k)).sum();
        let alpha = GAIN * kept / (1.0 - (1.0 - GAIN) * kept);
        let (mut short, mut gain) = (rate * alpha / 2.0, -of(0) * rate * alpha / 2.0);
        for k in 1..20_000 {
            let more = f64::from((k - 5).max(0)) * INCREASE;
            short = f64::midpoint(short, if k > 5 { INCREASE } else { 0.0 });
            gain += of(k) * (more - short);
        }
        gain
    };
    let (mut low, mut high) = (1e-5_f64, 0.2_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if gain_of_a_cycle(middle) > 0.0 { low = middle } else { high = middle }
    }
    5.0 + low * 195.0 / 0.01
}

#[test]
fn dcqcn_rests_where_its_equations_say() {
    // Kmin 5 KB and Pmax / (Kmax - Kmin) as in the paper. The ramp goes on to four times its Kmax,
    // so that the step at its end plays no part. Swings of some ms make an error of 4 % in 100 ms.
    for flows in [2, 4, 10] {
        let rest = queue_at_rest(flows);
        let text = format!(
            "title = \"DCQCN\"\n[run]\nduration = \"150ms\"\nwarmup = \"50ms\"\nschemes = [\"dcqcn\"]\n\
             [[network.star.hosts]]\nname = \"sender\"\ncount = {flows}\nrate = \"40Gbps\"\n\
             delay = \"1us\"\n[[network.star.hosts]]\nname = \"receiver\"\nrate = \"40Gbps\"\n\
             delay = \"1us\"\n[switch]\npfc = {{ enabled = true }}\n[switch.aqm]\nkind = \"red\"\n\
             min = \"5KB\"\nmax = \"785KB\"\nmax_probability = 0.04\ngentle = false\nweight = 1\n\
             drop = false\nat = \"departure\"\n[transport]\nmtu = \"1000B\"\nheader = \"0B\"\n\
             segment = \"4KB\"\n[[traffic]]\nkind = \"connections\"\nfrom = \"sender\"\n\
             to = \"receiver\""
        );
        let summary = run_with(&document(&text), "dcqcn", 1, TraceConfig::default()).summary;
        let queue = summary.queue_mean_kb;
        assert!((queue / rest - 1.0).abs() < 0.15, "{flows} flows: {queue} KB, not {rest}");
        assert!(summary.throughput_gbps > 0.995 * 40.0, "{} Gb/s", summary.throughput_gbps);
        assert_eq!((summary.pfc_pauses, summary.drops), (0, 0));
    }
}
