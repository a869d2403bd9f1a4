//! Each algorithm does in the simulator what it is known for.
//!
//! Each claim has a short run, with the published constants of the default preset unless a test
//! says otherwise. Expected values come from the algorithm's own equations (`docs/algorithms`), and
//! the ranges are what the setting leaves open: whole packets, delayed ACKs, where in a cycle a run
//! ends. The pages quote the measured figures and name the tests.

mod delay_based;
mod dragonfly;
mod explicit;
mod learning;
mod loss_based;
mod losses;
mod marks;
mod models;
mod paths;
mod periods;
mod rates;
mod setting;
mod signals;
mod terms;

use incast_cc::registry::NAMES;

#[test]
fn every_algorithm_has_a_behaviour_here() {
    let files = [
        include_str!("behaviour/delay_based.rs"),
        include_str!("behaviour/explicit.rs"),
        include_str!("behaviour/loss_based.rs"),
        include_str!("behaviour/marks.rs"),
        include_str!("behaviour/models.rs"),
        include_str!("behaviour/rates.rs"),
        include_str!("behaviour/terms.rs"),
    ];
    for name in NAMES {
        let quoted = format!("\"{name}\"");
        assert!(files.iter().any(|text| text.contains(&quoted)), "{name} is in none of the tests");
    }
}
