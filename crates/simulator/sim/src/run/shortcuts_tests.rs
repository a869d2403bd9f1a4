//! Shortcuts change nothing: streams with two speeds, packets that are on the NIC's link before
//! they start, arrivals that are no events. Random networks and transports run with and without.

use std::fmt::Write as _;

use incast_cc::parts::random::Random;
use incast_scenario::Document;

use super::windows_tests::{FLOWS, random_case, random_graph, same, the_long_way, whole};

/// Traffic of all kinds of hosts: those that only send, only receive, do both, ask and answer;
/// with one connection and with several; messages one after the other and without end.
fn traffic(random: &mut Random, classes: &[&str]) -> String {
    const KINDS: [&str; 6] = [
        "from = \"h0\"\nto = \"h[1-2]\"\nkind = \"connections\"\n",
        "from = \"h\"\nto = \"h1\"\nkind = \"connections\"\nstart_spread = \"20us\"\n",
        "from = \"h[1-2]\"\nto = \"h0\"\nkind = \"connections\"\noperation = \"read\"\n",
        "from = \"h[1-2]\"\nto = \"h0\"\nkind = \"connections\"\noperation = \"read\"\n\
         message = \"30KB\"\ncount = 20\nevery = \"20us\"\n",
        "from = \"h\"\nto = \"h\"\nkind = \"poisson\"\nload = 0.5\nsizes = { fixed = \"20KB\" }\n",
        "from = \"h\"\nto = \"h2\"\nkind = \"connections\"\nmessage = \"3KB\"\ncount = 40\n\
         every = \"8us\"\n",
    ];
    let mut text = String::new();
    for _ in 0..=random.below(3) {
        let kind = KINDS[random.below(6) as usize];
        let _ = write!(text, "[[traffic]]\n{kind}");
        if !classes.is_empty() {
            let number = random.below(u32::try_from(classes.len()).unwrap());
            let _ = writeln!(text, "class = \"{}\"", classes[number as usize]);
        }
    }
    text
}

fn transport(random: &mut Random) -> String {
    let mut pick = |choices: &[&str]| {
        choices[random.below(u32::try_from(choices.len()).unwrap()) as usize].to_owned()
    };
    let general = [
        pick(&["", "ack_turnaround = \"0us\"\n", "ack_turnaround = \"3us\"\n"]),
        pick(&["", "ack_jitter = \"0us\"\n", "ack_jitter = \"2us\"\n"]),
        pick(&["", "ack_priority = true\n"]),
        pick(&["", "", "nic = \"fifo\"\n", "nic = \"srpt\"\n"]),
        pick(&["", "rto_min = \"100us\"\n"]),
    ];
    let stream = [
        pick(&["", "preset = \"ns-3\"\n", "preset = \"linux\"\n"]),
        pick(&["", "delayed_ack = 1\n", "delayed_ack = 4\n"]),
        pick(&["", "delayed_ack_timeout = \"10us\"\n"]),
        pick(&["", "", "sack = false\n"]),
        pick(&["", "ecn = \"classic\"\n"]),
        pick(&["", "", "small_queue = \"8KB\"\n"]),
        pick(&["", "", "send_buffer = \"30KB\"\n"]),
        pick(&["", "", "pace_windows_percent = 120\n"]),
    ];
    format!("[transport]\n{}[transport.stream]\n{}", general.concat(), stream.concat())
}

#[test]
fn shortcuts_of_streams_change_nothing() {
    const SCHEMES: [&str; 6] = ["dctcp", "newreno", "bbr", "swift", "cubic", "rtcp"];
    const SWITCHES: [&str; 5] = [
        "queue_limit = \"30KB\"\necn_threshold = \"9KB\"",
        "queue_limit = \"90KB\"",
        "queue_limit = \"90KB\"\necn_threshold = \"9KB\"\necn_at = \"departure\"",
        "queue_limit = \"90KB\"\necn_threshold = \"20KB\"",
        "buffer = \"4MB\"\npfc = { enabled = true, xoff = \"15KB\" }",
    ];
    let mut random = Random::new(7);
    let (mut fewer, mut drops, mut retransmissions) = (0, 0, 0);
    for case in 0..48 {
        let text = if case % 4 == 0 {
            random_case(&mut random)
        } else {
            let (graph, ..) = random_graph(&mut random);
            let switch = SWITCHES[case % SWITCHES.len()];
            let names = (case % 3 == 0).then_some(["a", "b"]);
            let classes =
                names.map_or("", |_| "[[class]]\nname = \"a\"\n[[class]]\nname = \"b\"\n");
            let (transport, traffic) = (
                transport(&mut random),
                traffic(&mut random, names.as_ref().map_or(&[], |names| names)),
            );
            format!(
                "title = \"at random\"\n[run]\nduration = \"300us\"\nwarmup = \"50us\"\n\
                 cooldown = \"30us\"\nschemes = [\"timely\"]\n{graph}\n[switch]\n{switch}\n\
                 {classes}{transport}{traffic}"
            )
        };
        let document = Document::parse(text.clone(), "random.toml");
        let document = document.unwrap_or_else(|error| panic!("case {case}: {error}\n{text}"));
        let how = (SCHEMES[case % SCHEMES.len()], FLOWS);
        let short = whole(&document, how);
        let mut long = the_long_way(&document, how);
        fewer += long.summary.events.saturating_sub(short.summary.events);
        drops += short.summary.drops;
        retransmissions += short.summary.retransmissions;
        long.summary.events = short.summary.events;
        assert!(same(&short, &long), "case {case}, {}:\n{text}", how.0);
    }
    let seen = [fewer, drops, retransmissions];
    assert!(seen.iter().all(|&count| count > 1_000), "or it shows nothing: {seen:?}");
}

/// Messages of several classes, with pauses and losses, by NICs that serve packets or segments in
/// turn.
#[test]
fn shortcuts_of_messages_change_nothing() {
    const SCHEMES: [&str; 4] = ["line-rate", "timely", "swift", "dcqcn"];
    const SWITCHES: [&str; 5] = [
        "buffer = \"4MB\"\npfc = { enabled = true, xoff = \"15KB\" }",
        "buffer = \"4MB\"\npfc = { enabled = true, xoff = \"60KB\" }\necn_threshold = \"20KB\"",
        "queue_limit = \"40KB\"\necn_threshold = \"10KB\"",
        "queue_limit = \"40KB\"\necn_threshold = \"10KB\"\necn_at = \"departure\"",
        "buffer = \"4MB\"\npfc = { enabled = true, xoff = \"60KB\" }\naqm = { kind = \"red\", min = \
         \"5KB\", max = \"40KB\", weight = 1, drop = false, at = \"departure\" }",
    ];
    let mut random = Random::new(11);
    let (mut fewer, mut pauses, mut drops) = (0, 0, 0);
    for case in 0..36 {
        let (graph, ..) = random_graph(&mut random);
        let mut pick = |choices: &[&'static str]| {
            choices[random.below(u32::try_from(choices.len()).unwrap()) as usize]
        };
        let transport = [
            pick(&["", "nic = \"segments\"\n"]),
            pick(&["", "segment = \"16KB\"\n", "segment = \"64KB\"\n"]),
            pick(&["", "recovery = \"go-back-n\"\n"]),
            pick(&["", "ack_priority = false\n"]),
        ];
        let traffic = [
            "from = \"h\"\nto = \"h0\"\nclass = \"low\"\nkind = \"connections\"\n",
            pick(&[
                "from = \"h0\"\nto = \"h1\"\nclass = \"low\"\nkind = \"connections\"\n",
                "from = \"h\"\nto = \"h\"\nclass = \"low\"\nkind = \"poisson\"\nload = 0.5\n\
                 sizes = { fixed = \"50KB\" }\n",
            ]),
            "from = \"h\"\nto = \"h1\"\nclass = \"high\"\nkind = \"connections\"\n\
             message = \"5KB\"\ncount = 30\nevery = \"7us\"\n",
        ];
        let text = format!(
            "title = \"at random\"\n[run]\nduration = \"300us\"\nwarmup = \"50us\"\n\
             cooldown = \"30us\"\nschemes = [\"timely\"]\n{graph}\n[switch]\n{}\n\
             [[class]]\nname = \"low\"\n[[class]]\nname = \"high\"\n\
             [transport]\n{}[[traffic]]\n{}",
            SWITCHES[case % SWITCHES.len()],
            transport.concat(),
            traffic.join("[[traffic]]\n")
        );
        let document = Document::parse(text.clone(), "random.toml");
        let document = document.unwrap_or_else(|error| panic!("case {case}: {error}\n{text}"));
        let how = (SCHEMES[case % SCHEMES.len()], FLOWS);
        let short = whole(&document, how);
        let mut long = the_long_way(&document, how);
        fewer += long.summary.events.saturating_sub(short.summary.events);
        pauses += short.summary.pfc_pauses;
        drops += short.summary.drops;
        long.summary.events = short.summary.events;
        assert!(same(&short, &long), "case {case}, {}:\n{text}", how.0);
    }
    let seen = [fewer, pauses, drops];
    assert!(seen.iter().all(|&count| count > 1_000), "or it shows nothing: {seen:?}");
}

/// Hosts that send at full speed, or receive, or both: what is ahead of time is taken back often.
#[test]
fn shortcuts_of_the_benchmarks_change_nothing() {
    for (file, duration) in
        [("star.toml", "8ms"), ("leaf-spine-tcp.toml", "400us"), ("fat-tree-128.toml", "90us")]
    {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bench/").to_owned() + file;
        let changes = ["run.warmup=0us", "run.interval=5us", &format!("run.duration={duration}")]
            .map(ToOwned::to_owned);
        let document = Document::load(path.as_ref()).and_then(|bench| bench.with_set(&changes));
        let document = document.unwrap_or_else(|error| panic!("{error}"));
        let short = whole(&document, ("dctcp", FLOWS));
        let mut long = the_long_way(&document, ("dctcp", FLOWS));
        assert!(short.summary.events < long.summary.events, "{file}");
        long.summary.events = short.summary.events;
        assert!(same(&short, &long), "{file}");
    }
}

/// Algorithms that choose the class of each packet, so that packets of a connection overtake each
/// other, over streams and messages.
#[test]
fn shortcuts_beside_classes_that_algorithms_choose_change_nothing() {
    const SCHEME: &str = "pias[classes=3,threshold1=4KB,threshold2=11KB,timeouts=1,idle=10us]";
    const SWITCHES: [&str; 5] = [
        "queue_limit = \"30KB\"\necn_threshold = \"9KB\"\necn_scope = \"port\"",
        "port_limit = \"40KB\"\necn_threshold = \"20KB\"\necn_scope = \"port\"",
        "port_limit = \"40KB\"\necn_threshold = \"20KB\"\necn_scope = \"port\"\necn_at = \"departure\"",
        "queue_limit = \"90KB\"\necn_threshold = \"20KB\"",
        "buffer = \"4MB\"\npfc = { enabled = true, xoff = \"15KB\" }\necn_threshold = \"9KB\"",
    ];
    let mut random = Random::new(19);
    let (mut drops, mut retransmissions, mut marks) = (0, 0, 0);
    for case in 0..24 {
        let (graph, ..) = random_graph(&mut random);
        let weight = if case % 5 == 0 { "weight = 2\n" } else { "" };
        let kind = ["stream", "stream", "message"][case % 3];
        let nic = ["packets", "segments", "fifo", "srpt"][random.below(4) as usize];
        let text = format!(
            "title = \"at random\"\n[run]\nduration = \"300us\"\nwarmup = \"50us\"\n\
             cooldown = \"30us\"\nschemes = [\"timely\"]\n{graph}\n[switch]\n{}\n\
             [[class]]\nname = \"a\"\n{weight}[[class]]\nname = \"b\"\n{weight}\
             [[class]]\nname = \"c\"\n\
             [transport]\nkind = \"{kind}\"\nsegment = \"16KB\"\nnic = \"{nic}\"\n\
             rto_min = \"100us\"\n{}",
            SWITCHES[case % SWITCHES.len()],
            traffic(&mut random, &[]),
        );
        let document = Document::parse(text.clone(), "random.toml");
        let document = document.unwrap_or_else(|error| panic!("case {case}: {error}\n{text}"));
        let short = whole(&document, (SCHEME, FLOWS));
        let mut long = the_long_way(&document, (SCHEME, FLOWS));
        drops += short.summary.drops;
        retransmissions += short.summary.retransmissions;
        marks += short.summary.ecn_marks;
        long.summary.events = short.summary.events;
        assert!(same(&short, &long), "case {case}:\n{text}");
    }
    let seen = [drops, retransmissions, marks];
    assert!(seen.iter().all(|&count| count > 100), "or it shows nothing: {seen:?}");
}
