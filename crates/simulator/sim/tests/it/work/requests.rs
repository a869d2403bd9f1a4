//! Requests: how many are under way, how many servers they ask, when they are complete, and where
//! the time went.

use std::collections::BTreeSet;

use incast_sim::Report;

use super::setting::{
    Request, assert_exponential, chi_square, grouped, messages, moments, number, requests,
};
use crate::common::{counts, document, numbers, run, run_with};

/// Two clients ask eight servers, all at 100 Gb/s, until half a millisecond before the end.
fn ask(duration_us: u32, settings: &str) -> Report {
    run(&asking(duration_us, settings))
}

fn asking(duration_us: u32, settings: &str) -> String {
    let hosts = |name, count| {
        format!(
            "[[network.star.hosts]]\nname = \"{name}\"\ncount = {count}\nrate = \"100Gbps\"\n\
             delay = \"1us\"\n"
        )
    };
    format!(
        "title = \"requests\"\n[run]\nduration = \"{}us\"\nschemes = [\"line-rate\"]\n{}{}\
         [switch]\nbuffer = \"100MB\"\nqueue_limit = \"10MB\"\n\
         [[traffic]]\nfrom = \"client\"\nto = \"server\"\nstop = \"{duration_us}us\"\n\
         kind = \"requests\"\n{settings}\n",
        duration_us + 500,
        hosts("client", 2),
        hosts("server", 8)
    )
}

/// The requests of each client, in the order of posting, and when any of them was complete.
fn by_client(report: &Report) -> Vec<(Vec<Request>, Vec<u64>)> {
    let of_clients = grouped(requests(report), |row| row.client.clone());
    assert_eq!(of_clients.len(), 2);
    let sorted = |mut rows: Vec<Request>| {
        rows.sort_by_key(|row| row.posted);
        let mut ends: Vec<_> = rows.iter().map(|row| row.completed).collect();
        ends.sort_unstable();
        (rows, ends)
    };
    of_clients.into_values().map(sorted).collect()
}

#[test]
fn closed_loop_keeps_its_requests_under_way() {
    let report = ask(1_000, "outstanding = 3\nsizes = { uniform = [\"1KB\", \"20KB\"] }");
    for (rows, ends) in by_client(&report) {
        assert!(rows.len() > 300, "{}", rows.len());
        // Three at the start; each later one at the instant at which one has ended.
        assert!(rows[..3].iter().all(|row| row.posted == 0));
        let starts: Vec<_> = rows[3..].iter().map(|row| row.posted).collect();
        assert_eq!(starts, ends[..starts.len()]);
    }
    assert_eq!(counts(&report, "load", "requests")[0], requests(&report).len() as u64);
}

#[test]
fn clients_think_between_requests() {
    let report = ask(20_000, "think_time = \"10us\"\nsizes = { fixed = \"1KB\" }");
    let mut thoughts = Vec::new();
    for (rows, ends) in by_client(&report) {
        // One at a time: the next is posted so long after the last was complete. The first comes
        // somewhere in the first think time, so that clients do not go in step.
        assert!(rows[0].posted <= 10_000_000);
        thoughts.extend(rows[1..].iter().zip(&ends).map(|(row, end)| (row.posted - end) as f64));
    }
    // A request takes some 4.3 us, and 10 us until the next: 1,400 a client.
    assert!(thoughts.len() > 2_500, "{}", thoughts.len());
    assert_exponential(&thoughts, 10e6);
}

#[test]
fn schemes_are_asked_the_same_requests_in_the_same_order() {
    let settings = "outstanding = 4\nthink_time = \"20us\"\nreads = 0.6\nreplicas = 2\n\
                    sizes = \"solar\"\nfan_out = [[1, 0.5], [2, 0.3], [8, 0.2]]";
    let scenario = document(&asking(400, settings));
    let [ours, theirs] = ["line-rate", "timely"].map(|scheme| {
        by_client(&run_with(&scenario, scheme, 1, incast_sim::TraceConfig::default()))
    });
    assert_eq!(ours.len(), theirs.len());
    for ((ours, _), (theirs, _)) in ours.iter().zip(&theirs) {
        let same = ours.len().min(theirs.len());
        assert!(same > 30, "{same}");
        let times =
            |rows: &[Request]| rows[..same].iter().map(|row| row.posted).collect::<Vec<_>>();
        assert_ne!(times(ours), times(theirs), "or it shows nothing");
        for (number, (a, b)) in ours.iter().zip(theirs).enumerate() {
            let (a, b) = ((&a.kind, a.bytes, a.fan_out), (&b.kind, b.bytes, b.fan_out));
            assert_eq!(a, b, "request {number} of {}", ours[0].client);
        }
    }
}

#[test]
fn open_loop_offers_its_load_whatever_becomes_of_it() {
    let report = ask(2_000, "load = 0.4\nsizes = { fixed = \"1KB\" }");
    let mut gaps = Vec::new();
    for (rows, _) in by_client(&report) {
        gaps.extend(rows.windows(2).map(|pair| (pair[1].posted - pair[0].posted) as f64));
    }
    // 1 kB at 40 Gb/s each 200 ns: 20,000 of them, whose number varies by 0.7 %.
    assert_exponential(&gaps, 200_000.0);
    let bytes: u64 = messages(&report).iter().map(|row| row.bytes).sum();
    let load = bytes as f64 * 8.0 / (2_000e-6 * 2.0 * 100e9);
    assert!((load / 0.4 - 1.0).abs() < 3.3 * 0.0071, "{load}");
    // Posted in 2 ms of the 2.5 ms that are measured.
    assert!((numbers(&report, "load", "asked_gbps")[0] - 80.0 * 2.0 / 2.5).abs() < 1e-9);
}

#[test]
fn fan_out_counts_in_the_load() {
    // Each request brings 2.7 kB on average: 0.5 + 0.3 x 2 + 0.2 x 8 messages of 1 kB. The mean
    // square is 0.5 + 0.3 x 4 + 0.2 x 64 = 14.5, so the load of n requests varies by sqrt(14.5 / n)
    // / 2.7.
    let fan_out = "fan_out = [[1, 0.5], [2, 0.3], [8, 0.2]]";
    let report = ask(2_000, &format!("load = 0.4\nsizes = {{ fixed = \"1KB\" }}\n{fan_out}"));
    let bytes: u64 = messages(&report).iter().map(|row| row.bytes).sum();
    let load = bytes as f64 * 8.0 / (2_000e-6 * 2.0 * 100e9);
    let deviation = (14.5 / requests(&report).len() as f64).sqrt() / 2.7;
    assert!(deviation < 0.02, "{deviation}");
    assert!((load / 0.4 - 1.0).abs() < 3.3 * deviation, "{load}");
}

#[test]
fn fan_out_is_drawn_by_its_weights_and_asks_different_servers() {
    let report = ask(
        6_000,
        "outstanding = 4\nsizes = { fixed = \"1KB\" }\nfan_out = [[1, 0.5], [2, 0.3], [8, 0.2]]",
    );
    let requests = requests(&report);
    let n = requests.len() as f64;
    assert!(n > 6_000.0, "{n}");
    let count = |fan_out| requests.iter().filter(|row| row.fan_out == fan_out).count() as u64;
    let counts = [(1, 0.5), (2, 0.3), (8, 0.2)].map(|(fan_out, share)| (count(fan_out), n * share));
    // Two degrees of freedom: above 13.8 once in a thousand times.
    assert!(chi_square(counts) < 13.8, "{counts:?}");
    assert_eq!(counts.map(|(count, _)| count).iter().sum::<u64>(), requests.len() as u64);
    let mut by_server = [0_u64; 8];
    for row in messages(&report) {
        let server = row.destination.trim_start_matches("server");
        by_server[server.parse::<usize>().unwrap_or_else(|_| panic!("{row:?}"))] += 1;
    }
    let all = by_server.iter().sum::<u64>() as f64;
    // Seven degrees of freedom: above 24.3 once in a thousand times; those of fan-out 8 are even
    // anyway.
    assert!(chi_square(by_server.map(|count| (count, all / 8.0))) < 24.3, "{by_server:?}");
}

/// The messages of each request, which are those that its client posted at its instant.
fn of_requests(report: &Report) -> Vec<(Request, Vec<super::setting::Row>)> {
    let messages = grouped(messages(report), |row| (row.source.clone(), row.posted));
    let mut taken: Vec<_> = Vec::new();
    for request in requests(report) {
        let own = messages.get(&(request.client.clone(), request.posted));
        taken.push((request, own.cloned().unwrap_or_default()));
    }
    taken
}

#[test]
fn a_read_is_complete_with_the_last_of_its_answers() {
    for (split, each) in [(false, 9_000), (true, 3_000)] {
        let report = ask(
            500,
            &format!("load = 0.2\nfan_out = 3\nsplit = {split}\nsizes = {{ fixed = \"9KB\" }}"),
        );
        let all = of_requests(&report);
        assert!(all.len() > 50, "{}", all.len());
        for (request, own) in all {
            assert_eq!((request.kind.as_str(), request.fan_out, own.len()), ("read", 3, 3));
            assert!(own.iter().all(|row| row.bytes == each));
            let servers: BTreeSet<_> = own.iter().map(|row| &row.destination).collect();
            assert_eq!(servers.len(), 3, "different ones");
            assert_eq!(own.iter().map(|row| row.completed).max(), Some(request.completed));
        }
    }
}

#[test]
fn a_write_is_complete_when_its_last_replica_has_acknowledged_it() {
    let report = ask(
        20_000,
        "reads = 0.0\nreplicas = 3\nthink_time = \"100us\"\nsizes = { fixed = \"1KB\" }",
    );
    let mut alone = 0;
    let all = of_requests(&report);
    assert!(all.len() > 300, "{}", all.len());
    for (request, own) in all {
        assert_eq!((request.kind.as_str(), request.fan_out, own.len()), ("write", 3, 3));
        let last = own.iter().map(|row| row.completed).max().unwrap();
        // The ACK's 64 B take 5,120 ps on each of two links of 1 us, after a turnaround of 1 us.
        let (ack, least) = (request.completed - last, 1_000_000 + 2 * (1_000_000 + 5_120));
        assert!(ack >= least, "{ack} ps");
        alone += u64::from(ack == least);
    }
    assert!(alone > 100, "{alone}");
    // Three copies of 1 kB leave the client one after the other.
    let (mean, _) =
        moments(&messages(&report).iter().map(|row| row.host as f64).collect::<Vec<_>>());
    let packet = 1_040.0 * 80.0;
    assert!((mean - packet).abs() < packet * 0.05, "{mean}");
}

#[test]
fn time_at_hosts_and_in_the_network_add_up() {
    let report = ask(500, "outstanding = 8\nsizes = { fixed = \"30KB\" }\nreads = 0.5");
    let messages = messages(&report);
    assert!(messages.len() > 100 && messages.iter().any(|row| row.host > 1_000_000));
    for row in &messages {
        assert_eq!(row.host + row.network, row.completed - row.posted, "{row:?}");
        // No packet takes less than the ideal once it has left the host, and the first one is part
        // of it.
        assert!(row.network + 1 >= row.ideal - row.ideal.min(packet_time(row.bytes)), "{row:?}");
    }
    // Alone, a message waits nowhere.
    let report = ask(500, "think_time = \"50us\"\nsizes = { fixed = \"30KB\" }");
    let quiet = super::setting::messages(&report);
    let alone = quiet.iter().filter(|row| row.host == 0).count();
    assert!(alone * 10 > quiet.len() * 9, "{alone} of {}", quiet.len());
}

/// The approximate time of a message on a link of 100 Gb/s: packets of 1,460 B with 40 B of
/// headers.
fn packet_time(bytes: u64) -> u64 {
    (bytes + bytes.div_ceil(1_460) * 40) * 80
}

#[test]
fn farthest_servers_are_those_of_other_racks() {
    let text = super::setting::racks(
        3,
        "300us",
        "[[traffic]]\nkind = \"requests\"\nfrom = \"host\"\ndestinations = \"farthest\"\n\
         sizes = { fixed = \"64KB\" }",
    );
    let messages = messages(&run(&text));
    assert!(messages.len() > 60, "{}", messages.len());
    for row in &messages {
        assert_ne!(number(&row.source) / 4, number(&row.destination) / 4, "{row:?}");
    }
}
