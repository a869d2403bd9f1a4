//! Fat trees under load: ECMP spreads it, PFC holds it back and loses nothing, and a ring of pauses
//! is told.

use incast_sim::Report;

use super::setting::{chi_square, chi_square_range};
use crate::common::{counts, numbers, run, texts};

/// A fat tree of hosts called `host0` and so on, all at 100 Gb/s and 1 us.
fn fat_tree(k: u32, duration: &str, rest: &str) -> String {
    format!(
        r#"
        title = "a fat tree"
        [run]
        duration = "{duration}"
        schemes = ["line-rate"]
        [network.fat-tree]
        k = {k}
        hosts = {{ name = "host", rate = "100Gbps", delay = "1us" }}
        link = {{ rate = "100Gbps", delay = "1us" }}
        {rest}
        "#
    )
}

/// Names and packets of the links between two layers.
fn packets<'a>(report: &'a Report, layer: &str) -> Vec<(&'a str, u64)> {
    let links = texts(report, "links", "link").iter().zip(texts(report, "links", "layer"));
    let packets = counts(report, "links", "packets");
    let of_layer = links.zip(packets).filter(|((_, own), _)| *own == layer);
    of_layer.map(|((link, _), &packets)| (link.as_str(), packets)).collect()
}

/// How far counts are from equal within each group of neighbours of this size, and degrees of
/// freedom.
fn unevenness(counts: &[u64], group: usize) -> (f64, f64) {
    let of_group = |group: &[u64]| {
        let mean = group.iter().sum::<u64>() as f64 / group.len() as f64;
        chi_square(group.iter().map(|&count| (count, mean)))
    };
    let freedom = counts.len() / group * (group - 1);
    (counts.chunks(group).map(of_group).sum(), freedom as f64)
}

#[test]
fn flows_spread_over_the_core_and_do_not_polarise() {
    // k = 8: 128 hosts to the other pods, some 31,000 flows of one packet. Each packet draws one of
    // four ports at its edge switch, and one of four at its aggregation switch; its ACK does the
    // same on its way back.
    let report = run(&fat_tree(
        8,
        "60us",
        "[[traffic]]\nfrom = \"host\"\nstop = \"50us\"\n\
         kind = \"poisson\"\nload = 0.2\ndestinations = \"farthest\"\nsizes = { fixed = \"500B\" }",
    ));
    for layer in ["edge->aggregation", "aggregation->core"] {
        let links = packets(&report, layer);
        assert_eq!(links.len(), 128);
        let counts: Vec<_> = links.iter().map(|&(_, packets)| packets).collect();
        let all: u64 = counts.iter().sum();
        assert!(all > 60_000, "{layer}: {all}");
        // Given what each switch had to send: 32 switches of four uplinks. Had the aggregation
        // switches the hash of the edge switches, three of four uplinks would carry nothing.
        let (chi_square, freedom) = unevenness(&counts, 4);
        let range = chi_square_range(freedom);
        assert!(range.contains(&chi_square), "{layer}: {chi_square}, not in {range:?}");
    }
    // The core spreads nothing: to each pod it has one port. What each of its 16 switches got of
    // all is even too.
    let cores = packets(&report, "core->aggregation");
    let of_core: Vec<_> =
        cores.chunks(8).map(|ports| ports.iter().map(|port| port.1).sum::<u64>()).collect();
    let (chi_square, freedom) = unevenness(&of_core, 16);
    assert!(chi_square < chi_square_range(freedom).end, "{of_core:?}: {chi_square}");
}

#[test]
fn pfc_pushes_an_incast_back_to_its_senders_and_drops_nothing() {
    // All 15 others send without end into host0, in a fat tree of k = 4.
    let sender = |host: u32| format!("{{ from = \"host{host}\", to = \"host0\" }},\n");
    let senders = (1..16).map(sender).collect::<Vec<_>>().concat();
    let traffic =
        format!("[[traffic]]\nname = \"burst\"\nkind = \"flows\"\nlist = [\n{senders}]\n");
    let lossless = "[switch]\nbuffer = \"2MB\"\npfc = { enabled = true }\n";
    let report = run(&fat_tree(4, "500us", &format!("{lossless}{traffic}")));
    assert_eq!((report.summary.drops, report.summary.retransmissions), (0, 0));
    assert_eq!((report.summary.deadlocks, report.summary.pfc_watchdog_reports), (0, 0));
    assert!(report.books.balance(), "{:?}", report.books);
    let paused = |layer: &str| {
        let links =
            texts(&report, "links", "layer").iter().zip(numbers(&report, "links", "paused_us"));
        links.filter(|(own, _)| *own == layer).map(|(_, us)| *us).collect::<Vec<_>>()
    };
    // From the last switch all the way back to each sender; the receiver sends nothing and is not
    // paused.
    for layer in
        ["edge->aggregation", "aggregation->core", "core->aggregation", "aggregation->edge"]
    {
        assert!(paused(layer).iter().any(|&us| us > 10.0), "{layer}");
    }
    let hosts = paused("host->edge");
    assert!(hosts[0] == 0.0 && hosts[1..].iter().all(|&us| us > 100.0), "{hosts:?}");
    // The receiver's link is full all the same, from the first packets on.
    let expected = 100.0 * 1_460.0 / 1_500.0;
    let throughput = report.summary.throughput_gbps;
    assert!(throughput > expected * 0.98 && throughput < expected, "{throughput}");
    // The same without PFC drops.
    let lossy = run(&fat_tree(4, "500us", &format!("[switch]\nbuffer = \"2MB\"\n{traffic}")));
    assert!(lossy.summary.drops > 1_000, "{}", lossy.summary.drops);
    assert_eq!(lossy.summary.pfc_pauses, 0);
}

#[test]
fn a_dead_lock_is_told_and_the_run_ends() {
    // Three switches in a ring, and each host sends to the one two switches on, all the same way
    // round: each switch waits for the next. (Stephens et al., "Practical DCB for improved data
    // center networks", 2014.)
    let path = |i: usize| {
        let (next, last) = ((i + 1) % 3, (i + 2) % 3);
        format!(
            "[[traffic]]\nkind = \"connections\"\nfrom = \"host{i}\"\nto = \"host{last}\"\n\
             [[routing.path]]\nfrom = \"host{i}\"\nto = \"host{last}\"\n\
             via = [\"s{i}\", \"s{next}\", \"s{last}\"]\n"
        )
    };
    let link = |a: &str, b: &str| {
        format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"10Gbps\", delay = \"1us\" }},\n")
    };
    let links: String = (0..3)
        .map(|i| {
            let (switch, next) = (format!("s{i}"), format!("s{}", (i + 1) % 3));
            link(&format!("host{i}"), &switch) + &link(&switch, &next)
        })
        .collect();
    let scenario = |pfc: bool, action: &str| {
        format!(
            "title = \"a ring\"\n[run]\nduration = \"5ms\"\nschemes = [\"line-rate\"]\n\
             [network.graph]\nhosts = [{{ name = \"host\", count = 3 }}]\n\
             switches = [{{ name = \"s\", count = 3 }}]\nlinks = [\n{links}]\n\
             [switch]\nbuffer = \"200KB\"\n\
             pfc = {{ enabled = {pfc}, xoff = \"20KB\", watchdog.after = \"1ms\", watchdog.action = \"{action}\" }}\n{}{}{}",
            path(0),
            path(1),
            path(2)
        )
    };
    let report = run(&scenario(true, "report"));
    assert_eq!((report.summary.deadlocks, report.summary.drops), (1, 0));
    // The three links of the ring are held for good: the watchdog finds each once.
    assert_eq!(report.summary.pfc_watchdog_reports, 3);
    let kinds = texts(&report, "watchdog", "kind");
    assert_eq!(kinds, ["held", "held", "held", "dead-lock"]);
    assert_eq!(
        texts(&report, "watchdog", "detail")[3],
        "s0->s1 waits for s1->s2, that for s2->s0, that for s0->s1"
    );
    let times = numbers(&report, "watchdog", "time_us");
    assert!((1_000.0..1_500.0).contains(&times[3]), "found when it is reported: {times:?}");
    // A watchdog that drops ends it, and it comes again: each is told, at a report, before it is
    // freed.
    let freed = run(&scenario(true, "drop"));
    let kinds = texts(&freed, "watchdog", "kind");
    let times = numbers(&freed, "watchdog", "time_us");
    let of = |kind: &str| -> Vec<f64> {
        kinds.iter().zip(times).filter(|(found, _)| **found == *kind).map(|(_, &at)| at).collect()
    };
    let (locks, drops) = (of("dead-lock"), of("dropped"));
    assert!(freed.summary.drops > 0);
    assert_eq!(freed.summary.deadlocks, locks.len() as u64);
    // It locks within 250 us, and a watchdog looks every 250 us for what is held for 1 ms; the last
    // one is found at the end of the run.
    assert_eq!(locks, [1_250.0, 2_500.0, 3_750.0, 5_000.0]);
    assert!(locks[..3].iter().all(|lock| drops.contains(lock)), "{drops:?}");
    // Nothing moves: of 5 ms at a rate of 5 Gb/s for each, hardly anything arrived.
    let free = run(&scenario(false, "report")).summary;
    assert_eq!(free.deadlocks, 0);
    let stuck = report.summary.throughput_gbps;
    assert!(stuck < free.throughput_gbps / 5.0, "{stuck} and {} Gb/s", free.throughput_gbps);
}
