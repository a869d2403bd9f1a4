//! A policy as a decision tree.

use incast_cc::Span;
use incast_sim::scenario::guests::GuestError;
use serde::Deserialize;

use crate::action::{Control, ControlError};
use crate::observation::{FEATURES, WIDTH};

/// A decision tree over observations, with the control that it was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) control: Control,
    nodes: Vec<Node>,
}

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Leaf(f32),
    /// Goes to the first node if the feature is at most the threshold, else to the second.
    Split {
        feature: usize,
        threshold: f32,
        to: [usize; 2],
    },
}

/// The reason why a text is no tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The text is no such JSON.
    #[error("{0}; expected a tree as incast.learning.distill writes it")]
    Json(#[from] serde_json::Error),
    /// A value that cannot be.
    #[error("{0}")]
    Value(String),
    /// A setting of the control that cannot be.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The name cannot be had.
    #[error(transparent)]
    Name(#[from] GuestError),
}

/// The file of a tree.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    interval: String,
    action: String,
    step: f64,
    initial: f64,
    nodes: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Leaf { action: f64 },
    Split { feature: String, threshold: f64, low: usize, high: usize },
}

const FORMAT: &str = "incast tree 1";

impl Tree {
    /// Reads a tree from the JSON that `incast.learning.distill` writes.
    ///
    /// # Errors
    /// The text is no JSON of this form, or a value in it cannot be.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let file: File = serde_json::from_str(text)?;
        let wrong = |message: String| Err(TreeError::Value(message));
        if file.format != FORMAT {
            return wrong(format!("format = {:?}; expected {FORMAT:?}", file.format));
        }
        let interval: Span = match file.interval.parse() {
            Ok(interval) => interval,
            Err(error) => return wrong(format!("interval = {:?} {error}", file.interval)),
        };
        let control = Control::of(interval, &file.action, file.step, file.initial)?;
        if file.nodes.is_empty() {
            return wrong("nodes: expected at least one".into());
        }
        let count = file.nodes.len();
        let mut nodes = Vec::with_capacity(count);
        for (number, node) in file.nodes.into_iter().enumerate() {
            nodes.push(match node {
                Written::Leaf { action } => Node::Leaf(finite(number, "action", action)?),
                Written::Split { feature, threshold, low, high } => {
                    let Some(feature) = FEATURES.iter().position(|one| one.name == feature) else {
                        return wrong(format!("node {number}: there is no feature {feature:?}"));
                    };
                    // Each node lies behind the node that leads to it, so no way is a circle.
                    if low.min(high) <= number || low.max(high) >= count {
                        return wrong(format!(
                            "node {number}: leads to {low} and {high}; expected numbers from \
                             {} to {}",
                            number + 1,
                            count - 1
                        ));
                    }
                    let threshold = finite(number, "threshold", threshold)?;
                    Node::Split { feature, threshold, to: [low, high] }
                }
            });
        }
        Ok(Self { control, nodes })
    }

    /// The action that answers an observation.
    pub fn action(&self, features: &[f32; WIDTH]) -> f32 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf(action) => return action,
                Node::Split { feature, threshold, to } => {
                    at = to[usize::from(features[feature] > threshold)];
                }
            }
        }
    }
}

fn finite(number: usize, what: &str, value: f64) -> Result<f32, TreeError> {
    #[expect(clippy::cast_possible_truncation, reason = "a tree computes with 32 bits")]
    let short = value as f32;
    if short.is_finite() {
        return Ok(short);
    }
    Err(TreeError::Value(format!("node {number}: {what} = {value} is too large")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"format": "incast tree 1", "interval": "10us", "action": "change",
        "step": 0.1, "initial": 0.1, "nodes": [
        {"feature": "rtt_mean", "threshold": 0.5, "low": 1, "high": 2},
        {"action": 0.25}, {"action": -1}]}"#;

    #[test]
    fn a_tree_goes_low_at_the_threshold_and_high_above_it() {
        let tree = Tree::parse(TEXT).unwrap();
        let mut features = [0.0; WIDTH];
        assert_eq!(tree.action(&features), 0.25);
        features[3] = 0.5;
        assert_eq!(tree.action(&features), 0.25);
        features[3] = 0.500_01;
        assert_eq!(tree.action(&features), -1.0);
    }

    #[test]
    fn trees_that_cannot_be_are_told() {
        for (right, wrong, told) in [
            ("incast tree 1", "incast tree 2", "format"),
            ("10us", "10ns", "from 1us to 1s"),
            ("10us", "soon", "interval"),
            ("change", "leap", "expected \"change\""),
            ("rtt_mean", "weather", "no feature \"weather\""),
            ("\"low\": 1", "\"low\": 0", "leads to 0 and 2"),
            ("\"high\": 2", "\"high\": 3", "leads to 1 and 3"),
            ("0.25", "1e300", "too large"),
            ("\"step\": 0.1", "\"step\": 0", "step = 0"),
            ("\"initial\": 0.1", "\"initial\": 2", "initial = 2"),
            ("\"step\"", "\"stop\"", "stop"),
        ] {
            let error = Tree::parse(&TEXT.replacen(right, wrong, 1)).unwrap_err().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }
}
