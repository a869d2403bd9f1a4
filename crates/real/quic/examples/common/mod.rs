//! The command line and the report that both examples share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use incast_cc::{AnyAlgorithm, Rate};

/// The bytes of one write.
pub(crate) const CHUNK: usize = 64 * 1_024;

/// The time between two looks at the smoothed RTT.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// What the command line asks for.
pub(crate) enum Command {
    /// Both ends in this process, over loopback.
    Both(Transfer),
    /// The receiving end, which writes its certificate to a file.
    Serve(SocketAddr, PathBuf),
    /// The sending end, which trusts the certificate in the file.
    Send(SocketAddr, PathBuf, Transfer),
}

/// A transfer.
pub(crate) struct Transfer {
    /// The name of the algorithm, with `:` and a preset if it is one of incast's.
    pub(crate) control: String,
    /// The time for which data is sent.
    pub(crate) duration: Duration,
    /// The rate of the NIC.
    pub(crate) line_rate: Rate,
}

/// Reads the arguments of the program `name`; `theirs` are the names of the library's algorithms.
pub(crate) fn command(name: &str, theirs: &[&str]) -> Command {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let read = match words[..] {
        ["serve", address, file] => {
            address.parse().ok().map(|address| Command::Serve(address, file.into()))
        }
        ["send", address, file, ref rest @ ..] => {
            let parts = address.parse().ok().zip(transfer(rest));
            parts.map(|(address, transfer)| Command::Send(address, file.into(), transfer))
        }
        ref rest => transfer(rest).map(Command::Both),
    };
    let Some(command) = read else {
        fail(&format!(
            "usage: {name} ALGORITHM [SECONDS [LINE_RATE]]\n       {name} serve ADDRESS \
             CERTIFICATE\n       {name} send ADDRESS CERTIFICATE ALGORITHM [SECONDS [LINE_RATE]]"
        ))
    };
    if let Command::Both(transfer) | Command::Send(_, _, transfer) = &command {
        let control = transfer.control.as_str();
        if !theirs.contains(&control) && algorithm(control).is_none() {
            let ours = incast_cc::registry::NAMES.join(", ");
            fail(&format!(
                "error: there is no algorithm {control:?}; choose {}, or one of incast's: {ours}",
                theirs.join(", ")
            ));
        }
    }
    command
}

fn transfer(words: &[&str]) -> Option<Transfer> {
    let (control, rest) = words.split_first()?;
    let seconds = rest.first().map_or(Some(5), |seconds| seconds.parse().ok())?;
    let line_rate = rest.get(1).map_or(Some(Rate::from_gbps(10)), |rate| rate.parse().ok())?;
    let control = String::from(*control);
    (rest.len() <= 2).then_some(Transfer {
        control,
        duration: Duration::from_secs(seconds),
        line_rate,
    })
}

/// The algorithm of incast with this name, and after a colon its preset.
pub(crate) fn algorithm(name: &str) -> Option<AnyAlgorithm> {
    let (name, preset) = name.split_once(':').map_or((name, None), |(n, p)| (n, Some(p)));
    let mut algorithm = AnyAlgorithm::named(name)?;
    preset.map_or(Ok(()), |preset| algorithm.apply_preset(preset)).ok()?;
    Some(algorithm)
}

/// Says why the program ends, and ends it.
#[expect(clippy::print_stderr, reason = "a program's error")]
pub(crate) fn fail(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(2)
}

/// The reply of the receiving end: the bytes that it got, and the time from the first to the last.
pub(crate) fn reply(bytes: u64, took: Duration) -> [u8; 16] {
    let mut reply = [0; 16];
    reply[..8].copy_from_slice(&bytes.to_le_bytes());
    let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    reply[8..].copy_from_slice(&nanoseconds.to_le_bytes());
    reply
}

/// Prints the goodput that the receiving end tells of, and the smoothed RTTs seen meanwhile.
#[expect(clippy::print_stdout, reason = "a program's result")]
pub(crate) fn report(control: &str, reply: &[u8], mut rtts: Vec<Duration>, lost: &str) {
    let number = |part: &[u8]| part.try_into().map_or(0, u64::from_le_bytes);
    let (bytes, nanoseconds) = (number(&reply[..8]), number(&reply[8..]));
    rtts.sort_unstable();
    let quantile = |percent: usize| {
        rtts.get((rtts.len().max(1) - 1) * percent / 100).map_or(0, Duration::as_micros)
    };
    println!(
        "{control}: goodput {:.1} Mb/s, smoothed RTT p50 {} us, p99 {} us, {lost}",
        bytes as f64 * 8_000.0 / nanoseconds.max(1) as f64,
        quantile(50),
        quantile(99),
    );
}
