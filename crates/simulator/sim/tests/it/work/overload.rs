//! Loads that no network carries run all the same, and are told. A packet of 1 KB has 1,040 B on
//! the wire.

use super::setting::{racks, star};
use crate::common::{document, numbers, run};

const SIZES: &str = "sizes = { fixed = \"1KB\" }";

fn warnings(text: &str) -> Vec<String> {
    document(text).scenario().load_warnings()
}

/// A traffic of the hosts of a star.
fn traffic(from: &str, to: &str, kind: &str) -> String {
    format!("[[traffic]]\nfrom = \"{from}\"\nto = \"{to}\"\n{kind}\n")
}

fn poisson(load: f64) -> String {
    format!("kind = \"poisson\"\nload = {load}\n{SIZES}")
}

#[test]
fn a_load_that_fits_is_not_told() {
    for kind in [
        poisson(0.961),
        format!("kind = \"requests\"\nload = 0.961\n{SIZES}"),
        "kind = \"incast\"\nload = 0.961\nsenders = 4\nsize = \"1KB\"".to_owned(),
        format!("kind = \"requests\"\n{SIZES}"),
        "kind = \"connections\"\nmessage = \"1KB\"".to_owned(),
    ] {
        let text = star(5, "1ms", &traffic("host", "host", &kind));
        assert_eq!(warnings(&text), Vec::<String>::new(), "{kind}");
    }
    let core = "kind = \"poisson\"\nload = 0.961\nof = \"core\"\nsizes = { fixed = \"1KB\" }";
    assert_eq!(warnings(&racks(2, "1ms", &traffic("host", "host", core))), Vec::<String>::new());
}

#[test]
fn headers_count() {
    // Packets of at most 1,460 B: 80 B of headers for 2,500 B.
    for (size, fits) in [("1KB", 0.961), ("2500B", 0.968), ("100B", 0.714), ("1B", 0.024)] {
        let load = |load: f64| {
            let kind =
                format!("kind = \"poisson\"\nload = {load}\nsizes = {{ fixed = \"{size}\" }}");
            warnings(&star(5, "1ms", &traffic("host", "host", &kind)))
        };
        assert_eq!(load(fits), Vec::<String>::new(), "{size}");
        let told = load(fits + 0.001);
        assert_eq!(told.len(), 2, "{size}");
        let remedy = format!("lower the load of poisson to {fits:.3},");
        assert!(told.iter().all(|text| text.contains(&remedy)), "{told:?}");
    }
    // Of web search hardly a packet is not full: 1,460 of 1,500 B.
    let web = |load: f64| {
        let kind = format!("kind = \"poisson\"\nload = {load}\nsizes = \"web-search\"");
        warnings(&star(5, "1ms", &traffic("host", "host", &kind))).len()
    };
    assert_eq!([web(0.972), web(0.974)], [0, 2]);
}

#[test]
fn a_load_of_hosts_above_one_is_told_for_both_directions() {
    let text = star(5, "1ms", &traffic("host", "host", &poisson(1.25)));
    let told = warnings(&text);
    assert_eq!(
        told[0],
        "traffic asks host0 (and 4 other hosts) to send 1.300 times what its link carries, headers \
         included: what is left over never drains; lower the load of poisson to 0.961, or expect results that grow with run.duration"
    );
    assert!(told[1].starts_with("traffic asks host0 (and 4 other hosts) to receive 1.300 times"));
    assert_eq!(told.len(), 2);
}

#[test]
fn a_run_above_one_ends_and_carries_what_the_links_do() {
    let report = run(&star(3, "200us", &traffic("host", "host", &poisson(1.5))));
    let [offered, carried] =
        ["offered_gbps", "carried_gbps"].map(|column| numbers(&report, "load", column)[0]);
    // 450 Gb/s are asked for; of 300 Gb/s 1,000 of 1,040 B are payload.
    assert!((offered / 450.0 - 1.0).abs() < 0.05, "{offered}");
    assert!(carried < 300.0 * 1_000.0 / 1_040.0 && carried > 200.0, "{carried}");
}

#[test]
fn loads_of_several_traffics_add_up() {
    let both = traffic("host", "host", &poisson(0.7))
        + &traffic("host", "host", "kind = \"incast\"\nload = 0.4\nsenders = 4\nsize = \"1KB\"");
    let told = warnings(&star(5, "1ms", &both));
    assert_eq!(told.len(), 2);
    for text in told {
        assert!(
            text.contains("1.144 times")
                && text.contains("lower the load of poisson to 0.611, and incast to 0.349, or"),
            "{text}"
        );
    }
    let fits = traffic("host", "host", &poisson(0.7)) + &traffic("host", "host", &poisson(0.26));
    assert_eq!(warnings(&star(5, "1ms", &fits)), Vec::<String>::new());
}

#[test]
fn many_senders_overload_one_receiver_and_one_sender_none() {
    // Four hosts at 0.3 each into one: 1.2 of its link, and headers.
    let told = warnings(&star(5, "1ms", &traffic("host", "host0", &poisson(0.3))));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("traffic asks host0 to receive 1.248 times"), "{told:?}");
    // What is read comes the other way.
    let reads = format!("operation = \"read\"\n{}", poisson(0.3));
    let told = warnings(&star(5, "1ms", &traffic("host", "host0", &reads)));
    assert!(
        told.len() == 1 && told[0].starts_with("traffic asks host0 to send 1.248 times"),
        "{told:?}"
    );
}

#[test]
fn requests_load_their_clients_and_their_servers() {
    // Read by each of five what four others send: as much out as in.
    let told = warnings(&star(
        5,
        "1ms",
        &traffic("host", "host", &format!("kind = \"requests\"\nload = 1.1\n{SIZES}")),
    ));
    assert!(told.len() == 2 && told.iter().all(|text| text.contains("1.144 times")), "{told:?}");
    // Half reads, half writes: each host gets and gives half as a client, half as a server.
    let mixed = format!("kind = \"requests\"\nload = 1.1\nreads = 0.5\n{SIZES}");
    let told = warnings(&star(5, "1ms", &traffic("host", "host", &mixed)));
    assert!(told.len() == 2 && told.iter().all(|text| text.contains("1.144")), "{told:?}");
    // A client alone, which reads from four: its own link only, one way.
    let alone = format!("kind = \"requests\"\nload = 1.1\n{SIZES}");
    let told = warnings(&star(5, "1ms", &traffic("host0", "host", &alone)));
    assert!(
        told.len() == 1 && told[0].starts_with("traffic asks host0 to receive 1.144"),
        "{told:?}"
    );
}

#[test]
fn a_load_of_the_core_above_one_is_told() {
    let kind = "kind = \"poisson\"\nload = 1.3\nof = \"core\"\nsizes = { fixed = \"1KB\" }";
    let told = warnings(&racks(4, "1ms", &traffic("host", "host", kind)));
    // 4 x 100 Gb/s of core for 16 x 100 Gb/s of hosts: 1.3 of the one is 0.41 of the others, with 3
    // of 15 that do not cross it.
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("traffic asks the core to carry 1.352 times what its links do"),
        "{told:?}"
    );
}

#[test]
fn rack_local_and_permutation_count_where_they_go() {
    // host0 to host3 are a rack; all of their load stays in it, so nobody else receives.
    for setting in ["rack_local = 1.0", "rack_local = 0.5", "destinations = \"permutation\""] {
        for (load, expected) in [(0.95, 0), (1.05, 2)] {
            let kind = format!("kind = \"poisson\"\nload = {load}\n{SIZES}\n{setting}");
            let told = warnings(&racks(4, "1ms", &traffic("host", "host", &kind)));
            assert_eq!(told.len(), expected, "{setting}: {told:?}");
        }
    }
}

#[test]
fn what_single_hosts_receive_is_that_of_their_racks() {
    // Two racks of four; host2 and host3 of the one, host4 to host6 of the other receive. A quarter
    // stays in the rack: host2 gets 1/8 of host0 and of host1, 1/4 of host3, 3/8 of each host of
    // the other rack, 2 in all; host4 gets 1/8 of host5 and of host6, 1/12 of host7, 1/4 of each of
    // the other rack, 4/3. Where nothing stays they get 4/2 and 4/3. With headers, host4 has less
    // than 1 up to a load of 0.75 / 1.04.
    for setting in ["rack_local = 0.25", "destinations = \"farthest\""] {
        for (load, whom, receives) in [
            (0.72, "host2 (and another host)", "1.498"),
            (0.73, "host2 (and 4 other hosts)", "1.518"),
        ] {
            let kind = format!("kind = \"poisson\"\nload = {load}\n{SIZES}\n{setting}");
            let told = warnings(&racks(2, "1ms", &traffic("host", "host[2-6]", &kind)));
            let says = format!("traffic asks {whom} to receive {receives} times");
            assert!(told.len() == 1 && told[0].starts_with(&says), "{setting}: {told:?}");
        }
    }
    // In one rack all are as far: five hosts send to four others each.
    let kind = format!("kind = \"poisson\"\nload = 1.25\n{SIZES}\ndestinations = \"farthest\"");
    let told = warnings(&star(5, "1ms", &traffic("host", "host", &kind)));
    assert!(
        told.len() == 2 && told[1].contains("(and 4 other hosts) to receive 1.300"),
        "{told:?}"
    );
}

#[test]
fn time_series_that_are_left_out_are_told() {
    let warnings = |connections: u32, interval: &str, series: &str| {
        let traffic = format!(
            "{}connections = {connections}\n",
            traffic("host", "host", "kind = \"connections\"")
        );
        let text = star(6, "10ms", &format!("{traffic}[measure]\n{series}\n"));
        let run = format!("duration = \"10ms\"\ninterval = \"{interval}\"");
        let text = text.replace("duration = \"10ms\"", &run);
        let document = document(&text);
        assert_eq!(document.scenario().load_warnings(), Vec::<String>::new());
        document.scenario().series_warnings()
    };
    // 30 pairs of 67 connections each, 1,000 intervals; two million rows are not too many.
    let told = warnings(67, "10us", "");
    assert_eq!(
        told[0],
        "series_flows stays empty, it would have 2010000 rows; set measure.series = true to have it, or false \
         not to be told, or a longer run.interval"
    );
    assert!(told.len() == 2 && told[1].starts_with("series_jain stays empty"), "{told:?}");
    for (connections, interval, series) in [
        (66, "10us", ""),
        (67, "20us", ""),
        (67, "10us", "series = true"),
        (67, "10us", "series = false"),
    ] {
        assert_eq!(warnings(connections, interval, series), Vec::<String>::new());
    }
}

#[test]
fn what_is_told_is_left_out() {
    let text = star(
        6,
        "100us",
        &format!("{}connections = 667\n", traffic("host", "host", "kind = \"connections\"")),
    );
    // 20,010 connections, and 100 intervals of 1 us: of 200 us, twice as many.
    assert_eq!(document(&text).scenario().series_warnings().len(), 2);
    let report = run(&text);
    assert!(numbers(&report, "series_flows", "goodput_gbps").is_empty());
    assert!(!numbers(&report, "series_queues", "time_us").is_empty());
}
