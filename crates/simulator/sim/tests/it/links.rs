//! Links that differ from the network's: a rate for each direction, and loss at random.

use crate::closed_forms::{TEN, TEN_SHORT, completions, pair};
use incast_cc::Rate;
use incast_plan::topology::Cable;
use incast_sim::TraceConfig;

use crate::common::{counts, document, numbers, ps, run, run_traced, run_with, texts};

/// A link with settings of its own.
fn link(from: &str, to: &str, settings: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{settings}\n")
}

#[test]
fn each_direction_of_a_link_has_its_own_rate() {
    // Packets of 1,500 B: 1.2 us at 10 Gb/s, 600 ns at 20 Gb/s, 4 us at 3 Gb/s. Hosts are 5 and 1
    // us from the switch. A read asks with 72 B the other way.
    let own = link("switch", "b", "rate = \"20Gbps\"") + &link("b", "switch", "rate = \"3Gbps\"");
    let write = 1_200_000 + 5_000_000 + 600_000 + 1_000_000;
    let ask = 57_600 + 5_000_000 + 28_800 + 1_000_000;
    let read = ask + 4_000_000 + 1_000_000 + 1_200_000 + 5_000_000;
    for (traffic, expected) in [("", write), ("operation = \"read\"", read)] {
        let traffic = format!("message = \"1460B\"\n{traffic}\n{own}");
        let report = run(&pair(TEN, TEN_SHORT, "", &traffic));
        assert_eq!(completions(&report), [expected], "{traffic}");
        let ideal = numbers(&report, "messages", "ideal_us")[0];
        assert_eq!(ps(ideal), expected, "{traffic}");
    }
}

#[test]
fn flows_have_the_rate_of_their_direction() {
    // 1,460 B of each 1,500 B are payload; what ACKs of 64 B take is below 2 %.
    let own = link("b", "switch", "rate = \"1Gbps\"");
    let back = "[[traffic]]\nkind = \"connections\"\nfrom = \"b\"\nto = \"a\"";
    let report = run(&pair(TEN, TEN_SHORT, "", &format!("{own}{back}")));
    let goodputs = numbers(&report, "flows", "goodput_gbps");
    for (goodput, rate) in goodputs.iter().zip([10.0, 1.0]) {
        let share = goodput / (rate * 1_460.0 / 1_500.0);
        assert!((0.97..=1.0).contains(&share), "{goodputs:?}");
    }
    let links = texts(&report, "links", "link").iter().zip(numbers(&report, "links", "rate_gbps"));
    let rates: Vec<_> = links.map(|(name, &rate)| (&**name, rate)).collect();
    assert_eq!(
        rates,
        [("a->switch", 10.0), ("b->switch", 1.0), ("switch->a", 10.0), ("switch->b", 10.0)]
    );
}

#[test]
fn a_name_stands_for_all_links_between_its_nodes() {
    let text = format!(
        "title = \"uplinks\"\nrun = {{ duration = \"1ms\", schemes = [\"timely\"] }}\n\
         [network.leaf-spine]\nleaves = 3\nspines = 2\n\
         hosts = {{ name = \"h\", count = 4, rate = \"10Gbps\", delay = \"1us\" }}\n\
         uplink = {{ rate = \"40Gbps\", delay = \"1us\" }}\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h1\"\n{}{}{}",
        link("leaf", "spine", "rate = \"20Gbps\""),
        link("spine1", "leaf2", "rate = \"5Gbps\""),
        link("h[2-3]", "leaf0", "rate = \"1Gbps\""),
    );
    let net = incast_sim::scenario::topology(document(&text).scenario());
    let count = |gbps: [u64; 2]| {
        let of = |cable: &&Cable| cable.rates == gbps.map(Rate::from_gbps);
        net.cables.iter().filter(of).count()
    };
    assert_eq!([[10, 10], [1, 10]].map(count), [10, 2]);
    assert_eq!([[20, 40], [20, 5]].map(count), [5, 1]);
}

/// A slow way back gives a pause a long wait: more than a packet arrives in the meantime.
#[test]
fn headroom_counts_what_a_fast_link_brings_while_a_slow_one_sends() {
    let text = |more: &str| {
        format!(
            r#"
            title = "a slow way back"
            [run]
            duration = "3ms"
            schemes = ["line-rate"]
            [[network.star.hosts]]
            name = "a"
            count = 2
            rate = "40Gbps"
            delay = "1us"
            [[network.star.hosts]]
            name = "b"
            rate = "40Gbps"
            delay = "1us"
            {}
            [switch]
            buffer = "1MB"
            [switch.pfc]
            enabled = true
            xoff = "20KB"
            {more}
            [[traffic]]
            kind = "connections"
            from = "a"
            to = "b"
            [[traffic]]
            kind = "connections"
            from = "b"
            to = "a"
            "#,
            link("switch", "a", "rate = \"1Gbps\"")
        )
    };
    let report = run(&text(""));
    assert!(report.summary.pfc_pauses > 10, "{}", report.summary.pfc_pauses);
    assert_eq!(report.summary.drops, 0);
    // With what links of equal rates need (two times 1 us at 40 Gb/s, three packets and a pause)
    // the headroom overflows.
    let report = run(&text("headroom = \"14565B\""));
    assert!(counts(&report, "queues", "drops_headroom").iter().sum::<u64>() > 0);
}

/// The packets of a column of the table of losses, by link.
fn lost(report: &incast_sim::Report, link: &str, column: &str) -> u64 {
    let place = texts(report, "link_failures", "link").iter().position(|name| name == link);
    counts(report, "link_failures", column)[place.unwrap_or_else(|| panic!("no loss on {link}"))]
}

#[test]
fn a_link_damages_its_share_of_packets_and_nothing_else_is_lost() {
    // Unpaced packets of 1,500 B each 1.2 us for 5 ms, of which one in fifty is damaged. PFC
    // protects their class, which does not help.
    let own = link("switch", "b", "loss = 0.02") + "[switch.pfc]\nenabled = true\n";
    let report = run(&pair(TEN, TEN_SHORT, "", &own));
    let damaged = lost(&report, "switch->b", "damaged");
    let sent = report.books.sent_packets as f64;
    // Data alone, of data and its ACKs; five standard deviations of the binomial distribution.
    let data = counts(&report, "links", "packets")[3] as f64;
    let expected = 0.02 * data;
    assert!((damaged as f64 - expected).abs() < 5.0 * expected.sqrt(), "{damaged} of {data}");
    assert!(sent > data && report.summary.drops == damaged, "{:?}", report.summary);
    assert!(report.summary.retransmissions >= damaged - 5, "{:?}", report.summary);
    let causes = ["no_room", "limit", "headroom", "aqm", "link", "watchdog"];
    for cause in causes.map(|cause| format!("drops_{cause}")) {
        assert_eq!(counts(&report, "queues", &cause).iter().sum::<u64>(), 0, "{cause}");
    }
}

#[test]
fn a_link_without_loss_damages_nothing_and_one_that_loses_all_brings_nothing() {
    let at = |loss: &str| run(&pair(TEN, TEN_SHORT, "", &link("switch", "b", loss)));
    let none = run(&pair(TEN, TEN_SHORT, "", ""));
    assert_eq!(format!("{:?}", at("loss = 0").tables), format!("{:?}", none.tables));
    let all = at("loss = 1");
    assert_eq!((all.books.delivered_packets, all.summary.throughput_gbps), (0, 0.0));
    assert_eq!(lost(&all, "switch->b", "damaged"), all.summary.drops);
}

#[test]
fn a_damaged_packet_is_dropped_in_the_trace_where_its_link_ends() {
    for (from, to, place) in [("switch", "b", "b"), ("a", "switch", "switch->a")] {
        let report = run_traced(&pair(TEN, TEN_SHORT, "", &link(from, to, "loss = 0.1")));
        let events = texts(&report, "trace_packets", "event");
        let places = texts(&report, "trace_packets", "place");
        let dropped = events.iter().zip(places).filter(|(event, _)| *event == "dropped");
        let places: Vec<_> = dropped.map(|(_, place)| place).collect();
        assert_eq!(places.len() as u64, lost(&report, &format!("{from}->{to}"), "damaged"));
        assert!(places.len() > 10 && places.iter().all(|at| *at == place), "{places:?}");
    }
}

/// Mathis, Semke, Mahdavi and Ott (CCR 1997): a flow that halves its window at each loss, one in
/// 1/p packets, has sqrt(3 / 2p) packets in flight on average, where each packet has its ACK.
#[test]
fn newreno_has_the_window_of_the_square_root_law() {
    for loss in [0.0005, 0.002, 0.008] {
        let own = link("switch", "b", &format!("loss = {loss}"));
        let text = pair(
            "rate = \"40Gbps\"\ndelay = \"25us\"",
            "rate = \"40Gbps\"\ndelay = \"25us\"",
            "kind = \"stream\"\nrto_min = \"200us\"\nstream = { delayed_ack = 1, sack = true }",
            &format!("connections = 4\n{own}"),
        );
        let text = text.replace("duration = \"5ms\"", "duration = \"400ms\"\nwarmup = \"20ms\"");
        let report = run_with(&document(&text), "newreno", 1, TraceConfig::default());
        let rtt = report.summary.rtt_mean_us * 1e-6;
        let packets = report.summary.throughput_gbps * 1e9 / 8.0 / 1_460.0 / 4.0 * rtt;
        let expected = (1.5_f64 / loss).sqrt();
        let off = packets / expected - 1.0;
        assert!(off.abs() < 0.1, "{loss}: {packets:.1} packets, not {expected:.1} ({off:+.2})");
    }
}

#[test]
fn schemes_without_an_answer_to_losses_are_warned_of_where_links_lose() {
    let warnings = |name: &str, own: &str| {
        let text = pair(TEN, TEN_SHORT, "", &format!("{own}[switch.pfc]\nenabled = true"));
        let document = document(&text);
        let scenario = document.scenario();
        incast_sim::warnings(scenario, name, &scenario.scheme(name).unwrap())
    };
    let lossy = link("switch", "b", "loss = 1e-3");
    for (name, remedy) in
        [("timely", "set its loss_decrease to 0.5"), ("dcqcn", "take a scheme that answers losses")]
    {
        let told = warnings(name, &lossy);
        let sentence = told.iter().find(|one| one.contains("has no answer to a loss"));
        assert!(sentence.is_some_and(|one| one.contains(remedy)), "{told:?}");
        for own in ["", &link("switch", "b", "loss = 0")] {
            let told = warnings(name, own);
            assert!(!told.iter().any(|one| one.contains("answer to a loss")), "{told:?}");
        }
    }
    assert_eq!(warnings("timely[loss_decrease=0.5]", &lossy), Vec::<String>::new());
    assert!(!warnings("newreno", &lossy).iter().any(|one| one.contains("answer to a loss")));
}
