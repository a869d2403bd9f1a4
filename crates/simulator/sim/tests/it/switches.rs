//! Switches with traffic classes, limits and queue management, compared with arithmetic.

use incast_sim::{Report, TraceConfig};

use crate::common::{counts, numbers, port, run, run_with, shipped, texts};

/// A star of 10 Gb/s and 1 us per link around hosts called `host0` and so on, of 100 ms.
fn star(hosts: u32, rest: &str) -> String {
    format!(
        r#"
        title = "a star"
        [run]
        duration = "100ms"
        warmup = "20ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = {hosts}
        rate = "10Gbps"
        delay = "1us"
        {rest}
        "#
    )
}

/// Traffic without end of one class.
fn stream(from: &str, to: &str, class: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"connections\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"{class}\"\n"
    )
}

#[test]
fn classes_with_weights_share_a_port_by_them() {
    // Two hosts at line rate into one port. PFC drops nothing, so what each class gets is what the
    // port sends of it: a quarter and three quarters of 10 Gb/s, 40 B of 1,500 B being headers.
    let report = run(&star(
        3,
        &format!(
            "[switch.pfc]\nenabled = true\n\
             [[class]]\nname = \"bronze\"\nweight = 1\n[[class]]\nname = \"gold\"\nweight = 3\n{}{}",
            stream("host0", "host2", "bronze"),
            stream("host1", "host2", "gold")
        ),
    ));
    let goodput = numbers(&report, "flows", "goodput_gbps");
    let payload = 10.0 * 1_460.0 / 1_500.0;
    for (goodput, share) in goodput.iter().zip([0.25, 0.75]) {
        assert!((goodput / payload - share).abs() < 0.002, "{goodput} of {payload} Gb/s");
    }
    assert_eq!(report.summary.drops, 0);
}

#[test]
fn classes_with_weights_share_a_nic_by_them() {
    // One host sends in both: its NIC, not the switch, says who goes first.
    let classes =
        "[[class]]\nname = \"bronze\"\nweight = 1\n[[class]]\nname = \"gold\"\nweight = 3\n";
    let payload = 10.0 * 1_460.0 / 1_500.0;
    let both = [stream("host0", "host1", "bronze"), stream("host0", "host1", "gold")].concat();
    for (more, shares) in [
        ("", &[0.25, 0.75][..]),
        // Two connections of a class share its part.
        (&stream("host0", "host2", "gold"), &[0.25, 0.375, 0.375]),
        // What all others leave is shared; a class that is alone has it all.
        (&stream("host2", "host0", "gold"), &[0.25, 0.75, 1.0]),
    ] {
        let report = run(&star(3, &format!("{classes}{both}{more}")));
        let goodput = numbers(&report, "flows", "goodput_gbps");
        for (goodput, share) in goodput.iter().zip(shares) {
            // ACKs, of 64 B for 64 KB, go before.
            assert!(
                (goodput / payload - share).abs() < 0.003,
                "{goodput} of {payload} Gb/s, {more}"
            );
        }
    }
}

#[test]
fn class_without_weight_goes_before_those_below_it() {
    let report = run(&star(
        3,
        &format!(
            "[switch.pfc]\nenabled = true\n[[class]]\nname = \"low\"\n[[class]]\nname = \"high\"\n{}{}",
            stream("host0", "host2", "low"),
            stream("host1", "host2", "high")
        ),
    ));
    // The high class has no gaps: nothing is left to the low one.
    let goodput = numbers(&report, "flows", "goodput_gbps");
    assert!(goodput[1] > 9.72 && goodput[0] < 0.01, "{goodput:?}");
}

#[test]
fn pause_of_one_class_lets_the_others_pass() {
    // host0 and host1 fill the port to host3 with bulk, which pauses them; host0 sends 64 KB to
    // host2, where nobody else sends, every millisecond.
    let slowest = |classes: &str, urgent: &str| {
        let report = run(&star(
            4,
            &format!(
                "[switch]\nbuffer = \"2MB\"\n[switch.pfc]\nenabled = true\n{classes}{}{}{}\
                 message = \"64KB\"\ncount = 99\nevery = \"1ms\"\n",
                stream("host0", "host3", "bulk"),
                stream("host1", "host3", "bulk"),
                stream("host0", "host2", urgent)
            ),
        ));
        assert!(report.summary.pfc_pauses > 100, "or it shows nothing");
        let times = numbers(&report, "messages", "completion_us");
        times.iter().fold(0.0_f64, |most, time| most.max(*time))
    };
    let both = "[[class]]\nname = \"bulk\"\n[[class]]\nname = \"urgent\"\n";
    // 44 packets take 53 us on the link, one more through the switch and one that was being sent
    // 1.2 us each, both links 2 us.
    let apart = slowest(both, "urgent");
    assert!((56.0..60.0).contains(&apart), "{apart} us");
    // In the class of bulk it stands still when that does, and has half of what the NIC may send.
    let together = slowest("[[class]]\nname = \"bulk\"\n", "bulk");
    assert!(together > 100.0, "{together} us");
}

#[test]
fn drops_are_counted_by_what_caused_them() {
    const CAUSES: [&str; 6] = ["no_room", "limit", "headroom", "aqm", "link", "watchdog"];
    for (switch, cause) in [
        ("buffer = \"100KB\"\nalpha = 64", "no_room"),
        ("queue_limit = \"100KB\"", "limit"),
        ("port_limit = \"100KB\"", "limit"),
        ("alpha = 0.125", "limit"),
        ("aqm = { kind = \"red\", min = \"15KB\", max = \"45KB\", ecn = false }", "aqm"),
        ("pfc = { enabled = true, xoff = \"50KB\", headroom = \"1B\" }", "headroom"),
    ] {
        let traffic = "[[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nto = \"host0\"";
        let report = run(&star(3, &format!("[switch]\n{switch}\n{traffic}")));
        let row = port(&report, "switch->host0");
        let of = |name: &str| counts(&report, "queues", &format!("drops_{name}"))[row];
        let all: u64 = CAUSES.map(of).iter().sum();
        assert_eq!(all, counts(&report, "queues", "drops")[row]);
        assert!(of(cause) > 0, "{switch}");
        // 64 times what is free is less than a packet's way from a full buffer: then the limit
        // comes first.
        assert!(of(cause) * 20 >= all * 19, "{switch}: little else drops");
    }
}

#[test]
fn what_is_counted_over_the_whole_run_includes_the_cool_down() {
    let switch = "[switch]\nqueue_limit = \"100KB\"\n[[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nto = \"host0\"";
    let text = star(3, switch);
    let cooled = text.replace("warmup = \"20ms\"", "warmup = \"20ms\"\ncooldown = \"30ms\"");
    let (whole, cooled) = (run(&text), run(&cooled));
    assert!(whole.summary.drops > 0);
    for (table, column) in
        [("queues", "drops"), ("flows", "retransmissions"), ("flows", "delivered_bytes")]
    {
        assert_eq!(counts(&whole, table, column), counts(&cooled, table, column), "{column}");
    }
    // Sent in 50 ms of 80: what is measured ends with measured time. The port that is full sends at
    // the same rate all the time; a host may be silent in timeouts.
    let packets = |report| {
        let links = texts(report, "links", "link").iter();
        let port = links.zip(counts(report, "links", "packets"));
        port.filter(|(name, _)| name.ends_with("host0"))
            .map(|(_, &count)| count as f64)
            .sum::<f64>()
    };
    let share = packets(&cooled) / packets(&whole);
    assert!((share - 50.0 / 80.0).abs() < 0.01, "{share}");
}

#[test]
fn port_limit_holds_over_all_classes() {
    let report = run(&star(
        3,
        &format!(
            "[switch]\nqueue_limit = \"200KB\"\nport_limit = \"150KB\"\n\
             [[class]]\nname = \"a\"\nweight = 1\n[[class]]\nname = \"b\"\nweight = 1\n{}{}",
            stream("host0", "host2", "a"),
            stream("host1", "host2", "b")
        ),
    ));
    let row = port(&report, "switch->host2");
    let most = numbers(&report, "queues", "max_kb")[row];
    assert!((148.5..=150.0).contains(&most), "{most} KB: all but a packet, and no more");
}

/// The incast of ten streams, or of so many, with other settings of its switch.
fn incast(scheme: &str, settings: &[&str]) -> Report {
    run_with(&shipped("tcp-incast", settings), scheme, 1, TraceConfig::default())
}

#[test]
fn red_that_is_a_step_marks_as_the_threshold_does() {
    let step = "switch.aqm={ kind = \"red\", min = \"96850B\", max = \"96850B\", weight = 1, \
                gentle = false }";
    let (mut red, threshold) =
        (incast("dctcp", &[step]), incast("dctcp", &["switch.ecn_threshold=96850B"]));
    assert!(red.summary.ecn_marks > 1_000, "or it shows nothing");
    // Queue management sees every packet that leaves: each has its event.
    assert!(red.summary.events > threshold.summary.events);
    red.summary.events = threshold.summary.events;
    // As text, because "not a number" equals nothing.
    let all = |report: &Report| format!("{:?} {:?}", report.summary, report.tables);
    assert!(all(&red) == all(&threshold), "the same to the last packet");
}

#[test]
fn pi_controller_brings_dctcp_to_its_target() {
    // An integrator rests only where the queue is on target; what is left is the ripple of the
    // windows.
    let pi = "switch.aqm={ kind = \"pi\", target = \"298KB\", a = 1e-4, b = 0.99e-4, interval = \"100us\" }";
    let report = incast("dctcp", &["run.duration=300ms", "run.warmup=150ms", pi]);
    let queue = report.summary.queue_mean_kb;
    assert!((queue / 298.0 - 1.0).abs() < 0.02, "{queue} KB");
    assert_eq!(report.summary.drops, 0);
}

#[test]
fn codel_keeps_the_long_queue_of_newreno_at_the_order_of_its_target() {
    // 100 us at 10 Gb/s are 125 KB; the queue without it has 745 KB.
    let codel = "switch.aqm={ kind = \"codel\", target = \"100us\", interval = \"1ms\" }";
    let (with, without) = (incast("newreno", &[codel]), incast("newreno", &[]));
    let (queue, full) = (with.summary.queue_mean_kb, without.summary.queue_mean_kb);
    assert!(full > 400.0, "or it shows nothing: {full} KB");
    assert!((60.0..250.0).contains(&queue), "{queue} KB");
    assert!(with.summary.throughput_gbps > 0.99 * without.summary.throughput_gbps);
    let row = port(&with, "switch->receiver");
    assert!(counts(&with, "queues", "drops_aqm")[row] > 0);
}

#[test]
fn pie_keeps_the_long_queue_of_newreno_at_the_order_of_its_target() {
    // 50 us at 10 Gb/s are 62.5 KB. Its gains are for 15 ms: here they are so many times larger.
    let pie = "switch.aqm={ kind = \"pie\", target = \"50us\", interval = \"500us\", \
               burst = \"0us\", a = 12.5, b = 125.0 }";
    let (with, without) = (incast("newreno", &[pie]), incast("newreno", &[]));
    let (queue, full) = (with.summary.queue_mean_kb, without.summary.queue_mean_kb);
    assert!(full > 400.0, "or it shows nothing: {full} KB");
    assert!((30.0..200.0).contains(&queue), "{queue} KB");
    let row = port(&with, "switch->receiver");
    assert!(counts(&with, "queues", "drops_aqm")[row] > 0);
}

#[test]
fn phantom_queue_trades_a_tenth_of_the_link_for_a_queue_near_zero() {
    let phantom = "switch.aqm={ kind = \"phantom\", drain = 0.9, threshold = \"6KB\" }";
    let two = "network.star.hosts.0.count=2";
    let report = incast("dctcp", &[two, phantom]);
    // 1,448 B of the 1,490 B of a packet are payload.
    let share = report.summary.throughput_gbps / (10.0 * 1_448.0 / 1_490.0);
    assert!((0.86..=0.90).contains(&share), "{share} of the link");
    // Without it the queue stands at the threshold of 65 packets.
    let real = incast("dctcp", &[two, "switch.ecn_threshold=96850B"]).summary;
    let queue = report.summary.queue_mean_kb;
    assert!(queue < 6.0 && real.queue_mean_kb > 60.0, "{queue} and {} KB", real.queue_mean_kb);
}

#[test]
fn queue_management_of_a_class_judges_no_other() {
    // The same traffic in both classes of one port, and a limit that neither queue reaches alone
    // with CoDel: only what is in the managed class is chosen.
    let codel = "aqm = { kind = \"codel\", target = \"20us\", interval = \"200us\", ecn = false }";
    let drops = |class: &str, other: &str| {
        let report = run(&star(
            3,
            &format!(
                "[switch]\nqueue_limit = \"300KB\"\n[[class]]\nname = \"plain\"\nweight = 1\n\
                 [[class]]\nname = \"managed\"\nweight = 1\n{codel}\n{}{}",
                stream("host0", "host2", class),
                stream("host1", "host2", other),
            ),
        ));
        let row = port(&report, "switch->host2");
        ["drops_limit", "drops_aqm"].map(|column| counts(&report, "queues", column)[row])
    };
    assert_eq!(drops("plain", "plain")[1], 0);
    let [_, chosen] = drops("managed", "plain");
    assert!(chosen > 0);
}

#[test]
fn links_tell_for_which_share_of_the_time_they_were_paused() {
    let traffic = "[[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nto = \"host0\"";
    let report = run(&star(3, &format!("[switch.pfc]\nenabled = true\n{traffic}")));
    let links = texts(&report, "links", "link");
    let (us, share) =
        (numbers(&report, "links", "paused_us"), numbers(&report, "links", "paused_share"));
    for ((link, us), share) in links.iter().zip(us).zip(share) {
        assert!((us / 80e3 - share).abs() < 1e-12, "{link}: {us} us of 80 ms");
        // Two hosts share a port: each may send half of the time.
        let paused = ["host1->switch", "host2->switch"].contains(&link.as_str());
        assert_eq!((0.4..0.6).contains(share), paused, "{link}: {share}");
    }
}
