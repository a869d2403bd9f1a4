//! Algorithms from elsewhere: a guest that does what TIMELY does gives the results of TIMELY.

use std::fmt;

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Configurable, Info, Param, SetError};
use incast_cc::timely::Timely;
use incast_cc::{Algorithm, AnyAlgorithm, Flow};
use incast_sim::TraceConfig;
use incast_sim::scenario::{Document, guests};

use crate::common::run_with;

/// TIMELY under another name.
struct Stranger(Timely, &'static Info);

impl Stranger {
    fn named(name: &'static str) -> Guest {
        let info = Box::leak(Box::new(Info { name, ..Timely::INFO }));
        Guest::keep(Self(Timely::default(), info))
    }
}

impl GuestAlgorithm for Stranger {
    fn info(&self) -> &'static Info {
        self.1
    }

    fn params(&self) -> &'static [Param] {
        Timely::PARAMS
    }

    fn with(&self, name: &str, text: &str) -> Result<Guest, SetError> {
        let mut timely = self.0;
        timely.set(name, text)?;
        Ok(Guest::keep(Self(timely, self.1)))
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        self.0.write(name, out)
    }

    fn burst_varies(&self) -> bool {
        self.0.burst_varies()
    }

    fn start(&self, flow: &Flow) -> Box<dyn GuestControl> {
        Box::new(self.0.start(flow))
    }
}

fn document() -> Document {
    let text = r#"
        title = "three hosts into one"
        [run]
        duration = "5ms"
        schemes = ["timely"]
        [cc.mine]
        algorithm = "stranger"
        t_high = "100us"
        [[network.star.hosts]]
        name = "sender"
        count = 3
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "10Gbps"
        delay = "1us"
        [[traffic]]
        kind = "connections"
        from = "sender"
        to = "receiver"
    "#;
    Document::parse(text.to_owned(), "guests.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scheme: &str) -> String {
    let report = run_with(&document(), scheme, 1, TraceConfig::default());
    format!("{:?}", (report.summary, report.tables))
}

#[test]
fn a_guest_gives_the_results_of_what_it_does() {
    guests::make_known(Stranger::named("stranger")).unwrap();
    assert_eq!(run("stranger"), run("timely"));
    assert_eq!(run("stranger[t_low=20us]"), run("timely[t_low=20us]"));
    assert_eq!(run("mine"), run("timely[t_high=100us]"));
    let scheme = document().scenario().scheme("stranger[t_low=20us]").unwrap();
    let mut value = String::new();
    scheme.algorithm.write("t_low", &mut value).unwrap();
    assert_eq!((scheme.algorithm.name(), value.as_str()), ("stranger", "20us"));
    assert!(matches!(scheme.algorithm, AnyAlgorithm::Guest(_)));
}

#[test]
fn names_and_parameters_that_cannot_be_are_told() {
    guests::make_known(Stranger::named("other")).unwrap();
    guests::make_known(Stranger::named("other")).unwrap(); // made anew
    let taken = guests::make_known(Stranger::named("swift")).unwrap_err();
    assert_eq!(taken.to_string(), "an algorithm is called swift already; choose another name");
    for name in ["a=b", "", "a[b", "a b"] {
        assert!(guests::make_known(Stranger::named(name)).is_err(), "{name}");
    }
    let told = |scheme| document().scenario().scheme(scheme).unwrap_err().to_string();
    assert!(
        told("other[t_lo=3us]").contains("did you mean \"t_low\""),
        "{}",
        told("other[t_lo=3us]")
    );
    assert!(told("other[t_low=3]").contains("t_low"), "{}", told("other[t_low=3]"));
    assert!(told("othre").contains("did you mean \"other\""), "{}", told("othre"));
    assert!(told("other:fast").contains("unknown preset"), "{}", told("other:fast"));
}
