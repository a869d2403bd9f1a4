//! Algorithms that choose the traffic class of each packet, and what ports do with it.

use incast_sim::{Report, TraceConfig};

use crate::common::{ALL_TRACES, counts, document, numbers, run, run_with, texts};

/// Ten hosts of 10 Gb/s and 1 us per link, with these classes, switches and traffic.
fn star(classes: &[&str], switch: &str, traffic: &str) -> String {
    let classes: Vec<_> =
        classes.iter().map(|name| format!("[[class]]\nname = \"{name}\"\n")).collect();
    let classes = classes.concat();
    format!(
        r#"
        title = "classes that algorithms choose"
        [run]
        duration = "20ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = 10
        rate = "10Gbps"
        delay = "1us"
        [transport]
        kind = "stream"
        [switch]
        {switch}
        {classes}
        {traffic}
        "#
    )
}

/// Messages from a host to the last one.
fn messages(name: &str, from: &str, message: &str, rest: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"connections\"\nname = \"{name}\"\nfrom = \"{from}\"\n\
         to = \"host9\"\nmessage = \"{message}\"\ncount = 1\n{rest}\n"
    )
}

const MARKS: &str = "ecn_threshold = \"97.5KB\"\necn_scope = \"port\"";
const FOUR: [&str; 4] = ["low", "second", "third", "high"];
const PIAS: &str = "pias[classes=4,threshold1=10KB,threshold2=20KB,threshold3=30KB]";

fn completions(report: &Report, traffic: &str) -> Vec<f64> {
    let times = numbers(report, "messages", "completion_us");
    let of = texts(report, "messages", "traffic").iter().zip(times);
    of.filter(|(name, _)| *name == traffic).map(|(_, &time)| time).collect()
}

/// The classes of the data packets that `host0` has sent, in the order of time.
fn classes(text: &str, scheme: &str) -> Vec<u64> {
    let report = run_with(&document(text), scheme, 1, ALL_TRACES);
    let classes = counts(&report, "trace_packets", "traffic_class");
    let places = texts(&report, "trace_packets", "place");
    let payloads = counts(&report, "trace_packets", "payload_bytes");
    let data = places.iter().zip(payloads).zip(classes);
    let data = data.filter(|((place, payload), _)| *place == "host0" && **payload > 0);
    data.map(|(_, &class)| class).collect()
}

#[test]
fn packets_fall_in_class_as_their_message_sends() {
    // 35 packets of 1,460 B, of which numbers 0 to 6 begin within 10 KB: 7 x 1,460 is 10,220. Then
    // 7 to 13, 14 to 20, and the rest.
    let text = star(&FOUR, MARKS, &messages("one", "host0", "51.1KB", ""));
    let expected: Vec<_> = (0..35).map(|number| 3 - (number / 7).min(3)).collect();
    assert_eq!(classes(&text, PIAS), expected);
    assert!(classes(&text, "dctcp").iter().all(|&class| class == 0), "the lowest class");
}

#[test]
fn traffic_that_names_a_class_begins_there() {
    let traffic = messages("one", "host0", "51.1KB", "class = \"third\"");
    let expected: Vec<_> = (0..35).map(|number| 2 - (number / 7).min(2)).collect();
    assert_eq!(classes(&star(&FOUR, MARKS, &traffic), PIAS), expected);
}

#[test]
fn a_short_message_passes_long_ones_whose_length_nobody_knows() {
    let traffic = messages("long", "host[0-2]", "5MB", "")
        + &messages("short", "host3", "9KB", "start = \"3ms\"");
    let text = star(&FOUR, MARKS, &traffic);
    let short = |scheme| {
        let report = run_with(&document(&text), scheme, 1, TraceConfig::default());
        completions(&report, "short")[0]
    };
    // Seven packets at 10 Gb/s and two links of 1 us take 11.6 us with the store and forward of a
    // packet; at the head of each queue a packet is in the way. 65 packets in a queue take 78 us.
    let (pias, dctcp) = (short(PIAS), short("dctcp"));
    assert!(pias < 15.0 && dctcp > 50.0, "{pias} us with PIAS, {dctcp} us with DCTCP");
}

#[test]
fn thresholds_are_compared_with_the_queue_of_the_class_or_with_all_of_the_port() {
    // Three hosts fill the queue of the high class, whose threshold is never reached. The packets
    // of the low class find less than 20 KB of their own, and more than that at the port.
    let marks = |scope: &str| {
        let text = star(
            &[],
            &format!("ecn_scope = \"{scope}\""),
            "[[class]]\nname = \"low\"\necn_threshold = \"20KB\"\n\
             [[class]]\nname = \"high\"\necn_threshold = \"5MB\"\n",
        ) + &messages("high", "host[0-2]", "1MB", "class = \"high\"")
            + &messages("low", "host3", "14.6KB", "start = \"200us\"");
        run(&text.replace("\"stream\"", "\"message\"")).summary.ecn_marks
    };
    assert_eq!((marks("queue"), marks("port")), (0, 10), "ten packets of 1,460 B");
}

#[test]
fn port_limit_drops_by_the_sum_of_all_classes() {
    let traffic = messages("a", "host[0-2]", "1MB", "class = \"high\"")
        + &messages("b", "host[3-5]", "1MB", "class = \"low\"");
    let report = run(&star(&FOUR, "port_limit = \"30KB\"", &traffic));
    let most = numbers(&report, "queues", "max_kb").iter().copied().fold(0.0, f64::max);
    assert!(report.summary.drops > 0 && most <= 30.0, "{most} KB");
}

#[test]
fn a_message_that_higher_classes_shut_out_begins_anew_at_the_top() {
    // Eight hosts send 9 KB each every 57 us, 10.4 Gb/s of packets in the highest class; the ninth
    // has a message that has fallen to the lowest. While its count never starts anew it gets
    // nothing behind its first seven packets; else 10 KB more after three timeouts in a row, the
    // second of which waits twice as long as the first, and the third four times.
    let every = "count = 400\nevery = \"57us\"";
    let urgent = messages("urgent", "host[0-7]", "9KB", every).replacen("count = 1\n", "", 1);
    let traffic = messages("long", "host8", "20MB", "") + &urgent;
    let text = star(&FOUR, &format!("{MARKS}\nport_limit = \"360KB\""), &traffic)
        .replace("[transport]", "[transport]\nrto_min = \"500us\"\nstream = { delayed_ack = 1 }");
    let delivered = |timeouts: u32| {
        let scheme = PIAS.replace(']', &format!(",timeouts={timeouts}]"));
        let report = run_with(&document(&text), &scheme, 1, TraceConfig::default());
        let bytes = counts(&report, "flows", "delivered_bytes");
        let of = texts(&report, "flows", "source").iter().zip(bytes);
        of.filter(|(name, _)| *name == "host8").map(|(_, &bytes)| bytes).sum::<u64>()
    };
    let (never, three) = (delivered(0), delivered(3));
    assert_eq!(never, 7 * 1_460);
    assert!(three >= never + 10_000, "{never} and {three} B");
}

#[test]
fn a_scenario_with_too_few_classes_is_warned_of() {
    let warnings = |text: &str, scheme: &str| {
        let document = document(text);
        let scenario = document.scenario();
        scenario.unmet_needs(scheme, &scenario.scheme(scheme).unwrap())
    };
    let exact = "transport.stream";
    let traffic = messages("one", "host0", "51.1KB", "") + &format!("[{exact}]\necn = \"exact\"");
    let few = warnings(&star(&FOUR, MARKS, &traffic), "pias");
    assert_eq!(
        few,
        ["pias needs 8 traffic classes, but the scenario has 4; list 8 [[class]], or set its \
          classes to fewer"]
    );
    assert!(warnings(&star(&FOUR, MARKS, &traffic), PIAS).is_empty());
    let fifo = warnings(&star(&[], "", &traffic), "pfabric");
    assert_eq!(
        fifo,
        [
            "pfabric needs ports that serve what is nearly done, but they serve what came first; set \
          switch.discipline to \"srpt\""
        ]
    );
    assert!(warnings(&star(&[], "discipline = \"srpt\"", &traffic), "pfabric").is_empty());
}
