//! Workloads of `SimAI`: the layers of a model, with their times and collectives.
//!
//! A round is a forward pass over the layers, and then a backward pass from the last layer to the
//! first. Forward and input-gradient collectives hold up the next layer. Weight-gradient
//! collectives go on beside the backward pass, and the update of a layer comes after its own.

use incast_cc::Span;
use incast_scenario::foreign::job::{Draft, JobGraph, Naming, Node, Operation};

use super::Opened;
use super::bytes::next_line;
use crate::ForeignError;
use crate::text::{Line, Word, lines, refused};

/// The policies, and whether their layers have collectives in the forward pass, for the input
/// gradient and for the weight gradient.
pub(super) const POLICIES: [(&str, Option<[bool; 3]>); 11] = [
    ("DATA", Some([false, false, true])),
    ("MODEL", Some([true, true, false])),
    ("MICRO", Some([false, false, true])),
    ("HYBRID_TRANSFORMER", Some([true, true, true])),
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Some([true, true, true])),
    ("HYBRID_DLRM", None),
    ("HYBRID_DLRM_ENHANCED", None),
    ("HYBRID_DATA_MODEL", None),
    ("HYBRID_MODEL_DATA", None),
    ("HYBRID_CUSTOMIZED", None),
    ("DISTRIBUTED_INFERENCE", None),
];

/// The most layers and ranks.
const MOST: u64 = 1_000_000;
/// The most collectives and computations of all ranks.
const MOST_OF_ALL: u64 = 100_000_000;

/// The fields of a layer.
const FIELDS: &str = "name, dependency, forward time, type and bytes, the same three of the input \
                      gradient and of the weight gradient, and update time";

/// A pass of a layer: a computation, and a collective after it.
#[derive(Clone, Copy, Debug)]
struct Pass {
    span: Span,
    collective: Option<(Operation, Kind, u64)>,
}

/// The ranks that a collective is among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tensor,
    Data,
    Expert,
    DataOfExperts,
}

/// A layer with its passes: forward, input gradient, weight gradient; and its update.
#[derive(Clone, Copy, Debug)]
struct Layer {
    passes: [Pass; 3],
    update: Span,
    line: usize,
}

/// The sizes of the groups of ranks.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    all: u64,
    tensor: u64,
    expert: u64,
    pipeline: u64,
}

pub(super) fn read(file: Opened) -> Result<JobGraph, ForeignError> {
    let Opened { name, mut bytes } = file;
    let (mut text, mut line, mut number) = (String::new(), String::new(), 1);
    while next_line(&name, bytes.as_mut(), &mut line, number)? {
        text.push_str(&line);
        number += 1;
    }
    let mut all = lines(&name, &text);
    let ended = |expected: &str| crate::text::ended(&name, &text, expected);
    let head = all.next().ok_or_else(|| ended("a policy"))?;
    let (sizes, phases) = header(&head)?;
    let counted = all.next().ok_or_else(|| ended("the number of layers"))?;
    let [count] = counted.columns("the number of layers")?;
    let count: u64 = count.number("the number of layers")?;
    let mut layers = Vec::new();
    for line in all {
        layers.push(layer(&line, phases)?);
    }
    if layers.len() as u64 != count || count == 0 || count > MOST {
        let reason = format!(
            "{count} layers are announced, but {} are there; expected as many, up to {MOST}",
            layers.len()
        );
        return Err(refused(&name, counted.number, reason));
    }
    if sizes.all * count * 7 > MOST_OF_ALL {
        let reason = format!(
            "{count} layers on {} ranks; expected at most {MOST_OF_ALL} passes of all",
            sizes.all
        );
        return Err(refused(&name, counted.number, reason));
    }
    let ranks: Vec<_> = (0..sizes.all).map(|rank| sizes.draft(rank, &layers).into()).collect();
    let mut notes = vec![];
    if sizes.pipeline > 1 {
        notes.push(format!(
            "{name}: the {} stages of the pipeline do their layers side by side, without messages \
             between them, as there",
            sizes.pipeline
        ));
    }
    let micro = head.words[0].text == "MICRO";
    if micro {
        notes.push(format!(
            "{name}: MICRO has no collectives of forward passes and input gradients, as there"
        ));
    }
    let groups = sizes.groups();
    let files = vec![name.clone()];
    let job = JobGraph { files, naming: Naming::Lines, ranks, groups, notes };
    let quiet = |rank: &incast_scenario::foreign::job::RankGraph| {
        rank.nodes().iter().all(|node| matches!(node, Node::Compute { .. }))
    };
    if job.ranks.iter().all(quiet) {
        let policy = head.words[0].text;
        let reason = format!(
            "{policy} leaves no collective to any layer; take HYBRID_TRANSFORMER, or name \
             collectives of weight gradients"
        );
        return Err(refused(&name, head.number, reason));
    }
    Ok(job)
}

/// The sizes of the groups, and the passes that have collectives.
fn header(line: &Line<'_>) -> Result<(Sizes, [bool; 3]), ForeignError> {
    let policy = line.words[0];
    let known = POLICIES.iter().find(|(name, _)| *name == policy.text);
    let Some(&(_, Some(phases))) = known else {
        let read: Vec<_> = POLICIES.iter().filter(|known| known.1.is_some()).collect();
        let names: Vec<_> = read.iter().map(|(name, _)| *name).collect();
        return Err(policy.unexpected(format!("one of {}", names.join(", "))));
    };
    let mut sizes = Sizes { all: 0, tensor: 1, expert: 1, pipeline: 1 };
    let mut words = line.words.iter().skip(1);
    while let Some(key) = words.next() {
        let value = words.next();
        let value = *value.ok_or_else(|| key.refused(format!("{} has no value", key.text)))?;
        let count: u64 = value.number("a whole number")?;
        let slot = match key.text {
            "all_gpus:" => &mut sizes.all,
            "model_parallel_NPU_group:" => &mut sizes.tensor,
            "ep:" => &mut sizes.expert,
            "pp:" => &mut sizes.pipeline,
            "checkpoints:" | "checkpoint_initiates:" if count > 0 => {
                let reason = "checkpoints, which are not read; take them out, and the layer \
                              numbers behind them";
                return Err(key.refused(reason));
            }
            "vpp:" | "ga:" | "checkpoints:" | "checkpoint_initiates:" | "pp_comm:" | "pp_comm" => {
                continue;
            }
            _ => {
                return Err(key.unexpected(
                    "model_parallel_NPU_group:, ep:, pp:, vpp:, ga:, all_gpus:, checkpoints:, \
                     checkpoint_initiates: or pp_comm:",
                ));
            }
        };
        *slot = count;
        if !(1..=MOST).contains(&count) {
            return Err(value.unexpected(format!("a number from 1 to {MOST}")));
        }
    }
    let Sizes { all, tensor, expert, pipeline } = sizes;
    if all < 2 || all % (tensor * pipeline) != 0 || (all / (tensor * pipeline)) % expert != 0 {
        return Err(line.refused(format!(
            "{all} GPUs are not in groups of {tensor} x {pipeline}, with {expert} experts; expected \
             all_gpus: to be a multiple of model_parallel_NPU_group: x pp: x ep:, and at least 2"
        )));
    }
    Ok((sizes, phases))
}

fn layer(line: &Line<'_>, phases: [bool; 3]) -> Result<Layer, ForeignError> {
    let words: [Word<'_>; 12] = line.columns(FIELDS)?;
    let span = |word: Word<'_>| {
        let ns: u64 = word.number("a time in whole nanoseconds")?;
        let ps = ns.checked_mul(1_000).ok_or_else(|| word.unexpected("less than 200 days"))?;
        Ok::<_, ForeignError>(Span::from_ps(ps))
    };
    let pass = |number: usize| {
        let [time, kind, bytes] = [0, 1, 2].map(|part| words[2 + 3 * number + part]);
        let size: u64 = bytes.number("a size in bytes")?;
        let found = collective(kind, number)?;
        let collective = found.filter(|_| phases[number] && size > 0);
        let collective = collective.map(|(operation, group)| (operation, group, size));
        Ok::<_, ForeignError>(Pass { span: span(time)?, collective })
    };
    let passes = [pass(0)?, pass(1)?, pass(2)?];
    Ok(Layer { passes, update: span(words[11])?, line: line.number })
}

/// The operation and the group of a word such as `ALLREDUCE_EP`.
fn collective(word: Word<'_>, pass: usize) -> Result<Option<(Operation, Kind)>, ForeignError> {
    let all = [
        ("ALLREDUCE", Operation::AllReduce),
        ("ALLTOALL", Operation::AllToAll),
        ("ALLGATHER", Operation::AllGather),
        ("REDUCESCATTER", Operation::ReduceScatter),
    ];
    if word.text == "NONE" {
        return Ok(None);
    }
    let found = all.iter().find_map(|&(name, operation)| {
        let group = match word.text.strip_prefix(name)? {
            "" if pass == 2 => Kind::Data,
            "" => Kind::Tensor,
            "_EP" => Kind::Expert,
            "_DP_EP" => Kind::DataOfExperts,
            _ => return None,
        };
        Some((operation, group))
    });
    found.map(Some).ok_or_else(|| {
        word.unexpected(
            "NONE, ALLREDUCE, ALLTOALL, ALLGATHER or REDUCESCATTER, plain or with _EP or _DP_EP",
        )
    })
}

impl Sizes {
    /// The collective of a rank; [`None`] where its group has no other rank.
    fn collective(self, rank: u64, asked: Option<(Operation, Kind, u64)>) -> Option<Node> {
        let (operation, kind, bytes) = asked?;
        let (count, _) = self.of(kind);
        if count < 2 {
            return None;
        }
        // A workload has the size of what is gathered, and a node that of a rank's part.
        let parts = if operation == Operation::AllGather { count } else { 1 };
        let (group, bytes) = (self.group(rank, kind), bytes.div_ceil(parts));
        Some(Node::Collective { operation, group, bytes })
    }

    /// The groups of a kind: how many ranks each has, and the distance between them.
    const fn of(self, kind: Kind) -> (u64, u64) {
        let data = self.all / (self.tensor * self.pipeline);
        match kind {
            Kind::Tensor => (self.tensor, 1),
            Kind::Data => (data, self.tensor),
            Kind::Expert => (self.expert, self.tensor),
            Kind::DataOfExperts => (data / self.expert, self.tensor * self.expert),
        }
    }

    /// The number of a rank's group of a kind, among those of that kind.
    const fn number(self, rank: u64, kind: Kind) -> u64 {
        let (count, apart) = self.of(kind);
        rank / (count * apart) * apart + rank % apart
    }

    const KINDS: [Kind; 4] = [Kind::Tensor, Kind::Data, Kind::Expert, Kind::DataOfExperts];

    /// The place of a rank's group among all groups.
    fn group(self, rank: u64, kind: Kind) -> u32 {
        let before = Self::KINDS.iter().take_while(|&&other| other != kind);
        let first: u64 = before.map(|&other| self.all / self.of(other).0).sum();
        u32::try_from(first + self.number(rank, kind)).unwrap_or(u32::MAX)
    }

    fn groups(self) -> Vec<Vec<u32>> {
        let mut groups = Vec::new();
        for kind in Self::KINDS {
            let (count, _) = self.of(kind);
            let first = groups.len();
            groups.resize(first + usize::try_from(self.all / count).unwrap_or(0), Vec::new());
            for rank in 0..self.all {
                let place = usize::try_from(self.number(rank, kind)).unwrap_or(0);
                groups[first + place].push(u32::try_from(rank).unwrap_or(u32::MAX));
            }
        }
        groups
    }

    /// The nodes of a rank.
    fn draft(self, rank: u64, layers: &[Layer]) -> Draft {
        let mut draft = Draft::default();
        let mut last = None;
        for layer in layers {
            last = Some(self.pass(&mut draft, rank, layer, 0, last));
        }
        for layer in layers.iter().rev() {
            let input = self.pass(&mut draft, rank, layer, 1, last);
            // The gradient of the weights is computed beside the collective of the input's.
            let weight = layer.passes[2];
            let line = Some(layer.line as u64);
            let computed = draft.add(Node::Compute { stream: 0, span: weight.span }, line);
            if let Some(before) = last {
                draft.wait(computed, before, false);
            }
            let mut own = computed;
            if let Some(collective) = self.collective(rank, weight.collective) {
                own = draft.add(collective, line);
                draft.wait(own, computed, false);
            }
            let update = draft.add(Node::Compute { stream: 1, span: layer.update }, line);
            draft.wait(update, own, false);
            // The next layer begins when both are computed and the input's collective has ended.
            let next = draft.add(Node::Compute { stream: 2, span: Span::ZERO }, line);
            draft.wait(next, computed, false);
            draft.wait(next, input, false);
            last = Some(next);
        }
        draft
    }

    /// Adds a computation and its collective after `before`, and returns the last node.
    fn pass(
        self,
        draft: &mut Draft,
        rank: u64,
        layer: &Layer,
        number: usize,
        before: Option<u32>,
    ) -> u32 {
        let Pass { span, collective } = layer.passes[number];
        let line = Some(layer.line as u64);
        let mut last = draft.add(Node::Compute { stream: 0, span }, line);
        if let Some(before) = before {
            draft.wait(last, before, false);
        }
        if let Some(collective) = self.collective(rank, collective) {
            let node = draft.add(collective, line);
            draft.wait(node, last, false);
            last = node;
        }
        last
    }
}
