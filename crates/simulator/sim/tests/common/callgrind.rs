//! Instruction counts, which do not depend on the load of a machine.

use std::io::{self, ErrorKind};
use std::process::Command;

/// Runs `command` under valgrind, some ten times slower. Returns its instructions and its output;
/// `None` where valgrind is not installed.
pub(crate) fn instructions(command: &Command) -> io::Result<Option<(u64, String)>> {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    counted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = match counted.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let count =
        said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    match count {
        Some(count) if output.status.success() => {
            Ok(Some((count, String::from_utf8_lossy(&output.stdout).into_owned())))
        }
        _ => Err(io::Error::other(format!("{counted:?} failed: {said}"))),
    }
}
