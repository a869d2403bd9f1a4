//! Networks at random: the text of a scenario with any topology, routing, switch, transport,
//! scheme and traffic.

use std::fmt::Write as _;

use incast_cc::AnyAlgorithm;
use incast_cc::param::Need;
use incast_cc::parts::random::Random;
use incast_cc::registry::NAMES;

/// A scenario at random.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) text: String,
    pub(crate) scheme: String,
    /// The names of the traffic whose packets are sprayed.
    pub(crate) sprayed: Vec<String>,
}

/// The least and the most of the links' rates, in Gb/s.
const GBPS: [u32; 6] = [1, 5, 10, 25, 40, 100];
const DELAYS: [&str; 4] = ["10ns", "500ns", "1us", "7us"];
const ROUTING: [&str; 5] = ["ecmp", "single", "spray", "valiant", "spanning-trees"];

impl Network {
    /// The network of a seed.
    pub(crate) fn drawn(seed: u64) -> Self {
        let mut draw = Draw(Random::new(seed));
        let scheme = draw.scheme();
        let duration_us = [200, 500, 2_000][draw.below(3)];
        let classes = draw.one_in(3);
        let mut text = format!(
            "title = \"at random\"\n[run]\nduration = \"{duration_us}us\"\nwarmup = \"0us\"\n\
             schemes = [\"{scheme}\"]\nseed = {seed}\n"
        );
        let topology = draw.topology();
        text += &topology;
        text += &draw.switch(&scheme, classes);
        text += &draw.transport();
        if draw.one_in(6) {
            text += "[signal]\nkind = \"rtt+noise\"\nnoise = \"5us\"\n";
        }
        let routing = draw.routing(&topology);
        text += &routing;
        if draw.one_in(8) {
            text += &draw.slower_link(&topology, duration_us);
        }
        if draw.one_in(4) {
            text += &draw.own_link(&topology);
        }
        if draw.one_in(6) {
            text += &draw.slow_receiver(duration_us);
        }
        let mut sprayed = Vec::new();
        for number in 0..=draw.below(3) {
            let _ = writeln!(text, "[[traffic]]\nname = \"{number}\"");
            let traffic = draw.traffic(classes);
            let own = if traffic.contains("routing") { &traffic } else { &routing };
            if own.contains("\"spray\"") {
                sprayed.push(number.to_string());
            }
            text += &traffic;
        }
        // The table takes long where many messages are under way, and there is no bound where some
        // are not delivered.
        let others = ["\"poisson\"", "\"flows\"", "\"incast\""];
        if others.iter().all(|other| !text.contains(other)) {
            text += "[measure]\nideal = true\n";
        }
        Self { text, scheme, sprayed }
    }
}

/// The draws of one network.
struct Draw(Random);

impl Draw {
    fn below(&mut self, n: u32) -> usize {
        self.0.below(n) as usize
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.0.below(n) == 0
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(u32::try_from(all.len()).unwrap())].clone()
    }

    /// The setting `key` with one of these values, or, as often as with any of them, nothing.
    fn perhaps(&mut self, key: &str, values: &[&str]) -> String {
        let word = self.of(values);
        if self.one_in(2) { String::new() } else { format!("{key} = {word}\n") }
    }

    fn rate(&mut self) -> String {
        format!("{}Gbps", self.of(&GBPS))
    }

    fn link(&mut self) -> String {
        format!("rate = \"{}\", delay = \"{}\"", self.rate(), self.of(&DELAYS))
    }

    fn scheme(&mut self) -> String {
        let name = self.of(NAMES);
        let presets = AnyAlgorithm::named(name).map_or(&[][..], |algorithm| algorithm.presets());
        if presets.is_empty() || self.one_in(2) {
            return name.to_owned();
        }
        format!("{name}:{}", presets[self.below(u32::try_from(presets.len()).unwrap())].name)
    }

    /// A network whose hosts are called `h` and a number, eight of them at least.
    fn topology(&mut self) -> String {
        let hosts = |draw: &mut Self, count: u32| {
            format!("{{ name = \"h\", count = {count}, {} }}", draw.link())
        };
        match self.below(9) {
            0 => {
                let groups: Vec<_> = ["h", "g"]
                    .map(|name| {
                        let link = self.link();
                        format!("{{ name = \"{name}\", count = 8, {link} }}")
                    })
                    .into();
                format!("[network.star]\nhosts = [{}]\n", groups.join(", "))
            }
            1 => format!(
                "[network.dumbbell]\nleft = [{}]\nright = [{{ name = \"g\", count = 2, {} }}]\n\
                 bottleneck = {{ {} }}\n",
                hosts(self, 8),
                self.link(),
                self.link()
            ),
            2 => format!(
                "[network.leaf-spine]\nleaves = {}\nspines = {}\nhosts = {}\nuplink = {{ {} }}\n",
                self.of(&[2, 3, 4]),
                self.of(&[1, 2, 3]),
                hosts(self, 4),
                self.link()
            ),
            3 => format!(
                "[network.fat-tree]\nk = 4\nhosts = {{ name = \"h\", {} }}\nlink = {{ {} }}\n\
                 core = {{ {} }}\n",
                self.link(),
                self.link(),
                self.link()
            ),
            4 => format!(
                "[network.clos]\npods = 2\nleaves = 2\naggregations = 2\ncores = {}\nhosts = {}\n\
                 leaf_uplink = {{ {} }}\naggregation_uplink = {{ {} }}\n",
                self.of(&[2, 4]),
                hosts(self, 2),
                self.link(),
                self.link()
            ),
            5 => format!(
                "[network.parking-lot]\nswitches = {}\nhosts = {}\nlink = {{ {} }}\n",
                self.of(&[4, 5, 12]),
                hosts(self, 2),
                self.link()
            ),
            6 => {
                let (groups, routers, global) =
                    self.of(&[(3, 2, 1), (4, 3, 1), (5, 2, 2), (5, 4, 1)]);
                format!(
                    "[network.dragonfly]\ngroups = {groups}\nrouters = {routers}\n\
                     global_links = {global}\nhosts = {}\nlocal = {{ {} }}\nglobal = {{ {} }}\n",
                    hosts(self, 2),
                    self.link(),
                    self.link()
                )
            }
            7 => format!(
                "[network.rail-optimised]\nservers = 4\nhosts = {}\nunit = {}\nspines = {}\n\
                 uplink = {{ {} }}\n",
                hosts(self, 2),
                self.of(&[1, 2, 4]),
                self.of(&[1, 2]),
                self.link()
            ),
            _ => self.graph(),
        }
    }

    /// Switches in a ring with further links across, each with a rate of its own, and two hosts at
    /// each.
    fn graph(&mut self) -> String {
        let switches = self.of(&[4_u32, 5, 7]);
        let mut text = format!(
            "[network.graph]\nhosts = [{{ name = \"h\", count = {} }}]\n\
             switches = [{{ name = \"s\", count = {switches} }}]\n",
            2 * switches
        );
        let mut links: Vec<_> = (0..switches).map(|s| (s, (s + 1) % switches)).collect();
        for _ in 0..self.below(4) {
            let (a, b) = (self.0.below(switches), self.0.below(switches));
            if a != b && !links.contains(&(a, b)) && !links.contains(&(b, a)) {
                links.push((a, b));
            }
        }
        let ends = links.into_iter().map(|(a, b)| format!("\"s{a}\", \"s{b}\""));
        let hosts = (0..2 * switches).map(|host| format!("\"h{host}\", \"s{}\"", host / 2));
        for ends in ends.chain(hosts) {
            let _ = writeln!(
                text,
                "[[network.graph.links]]\nends = [{ends}]\n{}",
                self.lines_of_link()
            );
        }
        text
    }

    /// Links of one direction that differ from the others, where their ends have names of one kind.
    fn own_link(&mut self, topology: &str) -> String {
        let ends: &[_] = if topology.contains("star") {
            &[("h", "switch"), ("switch", "h"), ("switch", "g0")]
        } else if topology.contains("leaf-spine") {
            &[("leaf", "spine"), ("spine0", "leaf"), ("h0", "leaf0")]
        } else if topology.contains("graph") {
            &[("s0", "s1"), ("s1", "s0"), ("h0", "s0")]
        } else {
            return String::new();
        };
        let (from, to) = self.of(ends);
        let own = match self.below(3) {
            0 => format!("rate = \"{}\"\n", self.rate()),
            1 => "loss = 1e-3\n".to_owned(),
            _ => format!("rate = \"{}\"\nloss = 0.02\n", self.rate()),
        };
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{own}")
    }

    /// A host that takes in less than its link may bring, for all of the time or some of it.
    fn slow_receiver(&mut self, duration_us: u32) -> String {
        let (host, rate) = (self.below(8), self.rate());
        let mut text = format!("[[receiver]]\nhosts = \"h{host}\"\nrate = \"{rate}\"\n");
        text += &self.perhaps("buffer", &["\"20KB\"", "\"100KB\"", "\"1MB\""]);
        if self.one_in(2) {
            let start = duration_us / 4;
            let _ = write!(text, "start = \"{start}us\"\nstop = \"{}us\"\n", 2 * start);
        }
        text
    }

    fn lines_of_link(&mut self) -> String {
        self.link().replace(", ", "\n")
    }

    fn routing(&mut self, topology: &str) -> String {
        let mut text = format!("[routing]\nkind = \"{}\"\n", self.of(&ROUTING));
        text += &self.perhaps("hash_seed", &["1", "2", "77"]);
        text += "convergence = \"10us\"\n";
        if topology.contains("spines = 3") && self.one_in(2) {
            text += "[[routing.path]]\nfrom = \"h0\"\nto = \"h4\"\nvia = [\"leaf0\", \"spine2\", \"leaf1\"]\n";
        }
        text
    }

    fn switch(&mut self, scheme: &str, classes: bool) -> String {
        let mut text = String::new();
        if classes {
            text += "[[class]]\nname = \"bulk\"\nweight = 1\n[[class]]\nname = \"fair\"\nweight = 3\n\
                     [[class]]\nname = \"urgent\"\n";
        }
        let name = scheme.split(':').next().unwrap_or(scheme);
        let needs = AnyAlgorithm::named(name).map_or(&[][..], |algorithm| algorithm.needs());
        let pfc = self.one_in(3);
        if classes && !pfc && self.one_in(2) {
            text = text.replace("weight = 1\n", "weight = 1\ndiscipline = \"trim\"\n");
        }
        text += "[switch]\nbuffer = \"4MB\"\n";
        if !pfc {
            text += &self.perhaps("queue_limit", &["\"20KB\"", "\"200KB\"", "\"3MB\""]);
        }
        if self.one_in(4) {
            let _ = writeln!(text, "burst = \"{}\"", self.of(&["9300B", "20KB", "100KB"]));
        }
        if self.one_in(6) {
            let _ = writeln!(text, "burst_time = \"{}\"", self.of(&["80us", "200us"]));
        }
        if needs.contains(&Need::PhantomQueue) {
            text += "aqm = { kind = \"phantom\", threshold = \"20KB\" }\n";
        } else if needs.contains(&Need::Ecn) || needs.contains(&Need::Notifications) {
            text += "ecn_threshold = \"20KB\"\n";
        } else {
            let aqms =
                ["", "", "", "", "ecn_threshold = \"9KB\"\n", "aqm = { kind = \"codel\" }\n"];
            text += self.of(&aqms);
            let red = "aqm = { kind = \"red\", min = \"6KB\", max = \"30KB\" }\n";
            let departing = "aqm = { kind = \"red\", min = \"6KB\", max = \"30KB\", rate = \"10Gbps\", \
                             drop = false, at = \"departure\" }\n";
            text += if text.contains("aqm") || text.contains("ecn") {
                ""
            } else {
                self.of(&["", "", red, departing])
            };
            if !pfc && !text.contains("aqm") {
                text += self.of(&["", "", "discipline = \"srpt\"\n"]);
            }
        }
        if text.contains("ecn_threshold") {
            text += &self.perhaps("ecn_at", &["\"arrival\"", "\"departure\""]);
        }
        if needs.contains(&Need::Telemetry) {
            text += "telemetry = true\n";
        }
        for need in needs {
            if let Need::Feedback(kind) = need {
                let _ = writeln!(text, "[switch.feedback.{kind}]");
            }
        }
        if pfc {
            text += "[switch.pfc]\nenabled = true\n";
        }
        text
    }

    fn transport(&mut self) -> String {
        let stream = self.one_in(2);
        let mut text =
            format!("[transport]\nkind = \"{}\"\n", if stream { "stream" } else { "message" });
        // A segment of the default size is too many packets of the least MTU.
        let least = self.one_in(5);
        text += &if least {
            "mtu = \"300B\"\n".to_owned()
        } else {
            self.perhaps("mtu", &["\"1500B\"", "\"4000B\"", "\"9000B\""])
        };
        text += &self.perhaps("header", &["\"20B\"", "\"66B\"", "\"90B\""]);
        let key = "segment";
        text += &if least {
            "segment = \"16KB\"\n".to_owned()
        } else {
            self.perhaps(key, &["\"1KB\"", "\"4096B\"", "\"16KB\"", "\"50001B\""])
        };
        text += &self.perhaps("nic", &["\"packets\"", "\"fifo\"", "\"segments\"", "\"srpt\""]);
        text += &self.perhaps("recovery", &["\"selective\"", "\"go-back-n\""]);
        text += &self.perhaps("ack_priority", &["true", "false"]);
        text += &self.perhaps("ack_jitter", &["\"1us\"", "\"300ns\""]);
        text += &self.perhaps("ack_turnaround", &["\"100ns\"", "\"5us\""]);
        text += "rto_min = \"100us\"\nrto_initial = \"100us\"\n";
        if stream {
            text += "[transport.stream]\n";
            text += &self.perhaps("preset", &["\"linux\"", "\"ns-3\"", "\"datacenter\""]);
            text += &self.perhaps("initial_window", &["2", "40", "400"]);
            text += &self.perhaps("handshake", &["true", "false"]);
            text += &self.perhaps("delayed_ack", &["1", "4"]);
            text += &self.perhaps("sack", &["true", "false"]);
            text += &self.perhaps("tso", &["\"9KB\"", "\"64KB\""]);
            text += &self.perhaps("small_queue", &["\"20KB\""]);
            text += &self.perhaps("ecn", &["\"auto\"", "\"exact\"", "\"classic\""]);
        }
        text
    }

    /// A link that gets slower for a while, which makes no message faster than its ideal.
    fn slower_link(&mut self, topology: &str, duration_us: u32) -> String {
        let switches = [
            ("star", "switch"),
            ("dumbbell", "left-switch"),
            ("leaf-spine", "leaf0"),
            ("fat-tree", "edge0"),
            ("clos", "leaf0"),
            ("rail-optimised", "leaf1"),
            ("parking-lot", "switch0"),
            ("dragonfly", "router0"),
            ("graph", "s0"),
        ];
        let of = switches.iter().find(|(kind, _)| topology.contains(kind));
        let switch = of.map_or("", |&(_, switch)| switch);
        let at = self.0.below(duration_us);
        format!("[[event]]\nat = \"{at}us\"\nlink = [\"h1\", \"{switch}\"]\nrate = \"500Mbps\"\n")
    }

    fn traffic(&mut self, classes: bool) -> String {
        let mut text = match self.below(7) {
            0 => format!(
                "kind = \"connections\"\nfrom = \"h[0-3]\"\nto = \"h\"\nfan_out = 2\n\
                 message = \"{}\"\ncount = {}\nevery = \"{}\"\n",
                self.of(&["1B", "1460B", "3KB", "30KB", "200KB"]),
                self.of(&[1, 3, 10]),
                self.of(&["0us", "1us", "30us"]),
            ) + self.of(&["", "start_spread = \"20us\"\n"])
                + self.of(&["", "operation = \"read\"\n"]),
            1 => format!(
                "kind = \"poisson\"\nfrom = \"h\"\nload = {}\nsizes = {}\n",
                self.of(&["0.05", "0.3", "0.6"]),
                self.of(&[
                    "\"google-rpc\"",
                    "\"web-search\"",
                    "{ uniform = [\"1B\", \"40KB\"] }",
                    "{ fixed = \"5001B\" }",
                    "{ exponential = \"20KB\" }",
                ]),
            ) + self.of(&["", "operation = \"read\"\n"])
                + self.of(&["", "destinations = \"permutation\"\n", "rack_local = 0.5\n"])
                + self.of(&["", "deadline = \"100us\"\n"]),
            2 => format!(
                "kind = \"requests\"\nfrom = \"h[0-3]\"\nto = \"h\"\noutstanding = {}\nsizes = {}\n\
                 reads = {}\nreplicas = {}\n",
                self.of(&[1, 3]),
                self.of(&["{ fixed = \"12KB\" }", "{ uniform = [\"100B\", \"30KB\"] }"]),
                self.of(&["0.0", "0.5", "1.0"]),
                self.of(&[1, 2]),
            ) + self.of(&["", "split = true\nfan_out = [[1, 0.5], [3, 0.5]]\n"])
                + self.of(&["", "think_time = \"5us\"\n"]),
            3 => format!(
                "kind = \"incast\"\nfrom = \"h\"\nto = \"h0\"\nload = {}\nsenders = {}\nsize = \"{}\"\n",
                self.of(&["0.1", "0.5"]),
                self.of(&[1, 4, 7]),
                self.of(&["100B", "5KB", "40KB"]),
            ),
            4 => format!(
                "kind = \"collective\"\nfrom = \"h[0-3]\"\ncollective = \"all-reduce\"\n\
                 size = \"{}\"\nrounds = 3\n",
                self.of(&["4KB", "64KB"]),
            ),
            5 => format!(
                "kind = \"ping-pong\"\nfrom = \"h[0-1]\"\nto = \"h[4-5]\"\nrounds = 20\nsize = \"{}\"\n",
                self.of(&["8B", "20KB"]),
            ),
            _ => "kind = \"flows\"\nlist = [{ from = \"h0\", to = \"h4\", size = \"30KB\", id = 1 }, \
                  { from = \"h4\", to = \"h1\", size = \"20KB\", after = { all = [1] } }, \
                  { from = \"h2\", to = \"h5\", size = \"7001B\", start = \"40us\" }, \
                  { from = \"h6\", to = \"h5\" }]\n"
                .to_owned(),
        };
        if self.one_in(4) {
            let _ = writeln!(text, "routing = \"{}\"", self.of(&ROUTING));
        }
        if self.one_in(8) {
            let _ = writeln!(text, "scheme = {{ name = \"{}\", share = 0.5 }}", self.scheme());
        }
        if classes && !text.contains("\"flows\"") {
            text += self.of(&["", "class = \"fair\"\n", "class = \"urgent\"\n"]);
            text += self.of(&["", "urgent = { below = \"4KB\", class = \"urgent\" }\n"]);
        }
        if !text.contains("\"flows\"") {
            text += self.of(&["", "", "weight = 3\n"]);
        }
        text
    }
}
