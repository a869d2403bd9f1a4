//! Network namespaces, and the links between them.

use std::path::Path;
use std::process::{Command, Stdio};

use incast_udp::place;

/// Network namespaces of a test; they go when this is dropped.
pub(crate) struct Namespaces {
    pub(crate) names: Vec<String>,
}

impl Namespaces {
    /// Adds namespaces and lays the links between them, if that is possible here; says so where it
    /// is not. The tag tells those of this process from each other.
    pub(crate) fn new(
        tag: &str,
        count: usize,
        lay: impl FnOnce(&[String]) -> bool,
    ) -> Option<Self> {
        let name = |number| format!("iu{}{tag}{number}", std::process::id());
        let this = Self { names: (0..count).map(name).collect() };
        let added = this.names.iter().all(|name| ip(&format!("netns add {name}")));
        let done = added && lay(&this.names);
        if !done {
            eprintln!("skipped: no namespaces or veth devices here, which need root and iproute2");
        }
        done.then_some(this)
    }

    /// The path of a namespace.
    pub(crate) fn path(&self, number: usize) -> String {
        format!("/run/netns/{}", self.names[number])
    }

    /// Opens something in a namespace, by a thread that enters it.
    pub(crate) fn inside<T: Send>(&self, number: usize, opens: impl FnOnce() -> T + Send) -> T {
        let path = self.path(number);
        let enters = || {
            place::enter(Path::new(&path)).unwrap();
            opens()
        };
        std::thread::scope(|scope| scope.spawn(enters).join().unwrap())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns delete {name}"));
        }
    }
}

/// Runs `ip`; returns whether it did what it was told.
pub(crate) fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
