//! Algorithms of collectives for MSCCL, in XML: what each block of threads of each GPU sends and
//! receives, step by step.
//!
//! M. Cowan et al., "`MSCCLang`: Microsoft Collective Communication Language", ASPLOS 2023; the
//! interpreter of MSCCL and the writer of msccl-tools.

use std::collections::BTreeMap;

use incast_cc::Span;
use incast_scenario::foreign::job::{Draft, JobGraph, Naming, Node};
use roxmltree::{Document, Node as Element};

use super::Opened;
use super::bytes::whole;
use crate::ForeignError;
use crate::text::refused;

/// The largest file in bytes: the interpreter reads less.
const MOST: u64 = 256_000_000;
/// The most GPUs, chunks and counts.
const MOST_COUNT: u64 = 1_000_000;

/// A file, with the names and lines of its elements.
struct Xml<'a> {
    name: &'a str,
    document: &'a Document<'a>,
}

pub(super) fn read(file: Opened, size: Option<u64>) -> Result<JobGraph, ForeignError> {
    let Opened { name, mut bytes } = file;
    let text = whole(&name, bytes.as_mut(), MOST)?;
    let document = Document::parse(&text).map_err(|error| {
        let line = error.pos().row as usize;
        let said = error.to_string();
        let said = said.escape_debug();
        refused(&name, line, format!("no XML ({said}); expected an algorithm of MSCCL"))
    })?;
    let xml = Xml { name: &name, document: &document };
    let algorithm = document.root_element();
    if algorithm.tag_name().name() != "algo" {
        let found = algorithm.tag_name().name();
        return Err(xml.refused(algorithm, format!("found <{found}>; expected <algo>")));
    }
    let Some(size) = size else {
        let reason = "an algorithm for data of any size; set size";
        return Err(xml.refused(algorithm, reason));
    };
    let gpus = xml.number(algorithm, &["ngpus"])?;
    let chunks = xml.number(algorithm, &["nchunksperloop"])?;
    if !(2..=MOST_COUNT).contains(&gpus) || !(1..=MOST_COUNT).contains(&chunks) {
        let reason =
            format!("{gpus} GPUs and {chunks} chunks; expected from 2 and 1, up to {MOST_COUNT}");
        return Err(xml.refused(algorithm, reason));
    }
    let chunk = size.div_ceil(chunks);
    let mut drafts: Vec<Option<Draft>> = vec![None; usize::try_from(gpus).unwrap_or(0)];
    for gpu in xml.children(algorithm, "gpu") {
        let gpu = gpu?;
        let id = xml.number(gpu, &["id"])?;
        let place = usize::try_from(id).ok().and_then(|id| drafts.get_mut(id));
        let Some(place) = place else {
            return Err(xml.refused(gpu, format!("GPU {id}; expected 0 to {}", gpus - 1)));
        };
        if place.replace(xml.gpu(gpu, (id, gpus), chunk)?).is_some() {
            return Err(xml.refused(gpu, format!("GPU {id} is there twice; take one out")));
        }
    }
    if let Some(absent) = drafts.iter().position(Option::is_none) {
        let reason = format!("GPU {absent} of {gpus} is not there; add it, or change ngpus");
        return Err(xml.refused(algorithm, reason));
    }
    let ranks = drafts.into_iter().flatten().map(Into::into).collect();
    let mut notes = vec![format!(
        "{name}: sums take no time, and all chunks go in one loop, where the interpreter takes \
         several for large data"
    )];
    if size % chunks > 0 {
        notes.push(format!("{name}: the data has {chunks} chunks of {chunk} B, rounded up"));
    }
    let files = vec![name.clone()];
    Ok(JobGraph { files, naming: Naming::Lines, ranks, groups: vec![], notes })
}

/// A block of threads: its far ends.
struct Block {
    send: Option<u32>,
    receive: Option<u32>,
    channel: u32,
}

impl Xml<'_> {
    fn line(&self, element: Element<'_, '_>) -> usize {
        self.document.text_pos_at(element.range().start).row as usize
    }

    fn refused(&self, element: Element<'_, '_>, reason: impl Into<String>) -> ForeignError {
        refused(self.name, self.line(element), reason)
    }

    /// The elements inside another one, all of one name.
    fn children<'b>(
        &'b self,
        element: Element<'b, 'b>,
        name: &'static str,
    ) -> impl Iterator<Item = Result<Element<'b, 'b>, ForeignError>> {
        element.children().filter(Element::is_element).map(move |child| {
            let found = child.tag_name().name();
            if found == name {
                return Ok(child);
            }
            Err(self.refused(child, format!("found <{found}>; expected <{name}>")))
        })
    }

    /// An attribute under the first of its names that is there.
    fn text<'b>(&self, element: Element<'b, 'b>, names: &[&str]) -> Result<&'b str, ForeignError> {
        let found = names.iter().find_map(|name| element.attribute(*name));
        found.ok_or_else(|| {
            let tag = element.tag_name().name();
            self.refused(element, format!("<{tag}> without {}; add it", names.join(" or ")))
        })
    }

    /// A whole number that may be -1, which is none.
    fn optional(
        &self,
        element: Element<'_, '_>,
        names: &[&str],
    ) -> Result<Option<u64>, ForeignError> {
        let text = self.text(element, names)?;
        if text == "-1" {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            let reason = format!("{} is {text:?}; expected a whole number", names[0]);
            self.refused(element, reason)
        })
    }

    fn number(&self, element: Element<'_, '_>, names: &[&str]) -> Result<u64, ForeignError> {
        self.optional(element, names)?.ok_or_else(|| {
            self.refused(element, format!("{} is -1; expected a whole number", names[0]))
        })
    }

    fn gpu(
        &self,
        gpu: Element<'_, '_>,
        (id, gpus): (u64, u64),
        chunk: u64,
    ) -> Result<Draft, ForeignError> {
        let mut draft = Draft::default();
        // The last node of each step, and the first nodes of steps that wait for others.
        let mut ends: BTreeMap<(u64, u64), u32> = BTreeMap::new();
        let mut waits = Vec::new();
        for block in self.children(gpu, "tb") {
            let block = block?;
            let number = self.number(block, &["id"])?;
            let peer = |name| {
                let peer = self.optional(block, &[name])?;
                if let Some(far) = peer.filter(|&far| far >= gpus || far == id) {
                    let reason = format!("{name} is {far}; expected another GPU, or -1");
                    return Err(self.refused(block, reason));
                }
                Ok(peer.and_then(|peer| u32::try_from(peer).ok()))
            };
            let channel = self.number(block, &["chan"])?;
            let channel = u32::try_from(channel).ok().filter(|&channel| channel < u32::MAX);
            let channel = channel.ok_or_else(|| {
                self.refused(block, "chan is out of range; expected the number of a channel")
            })?;
            let ways = Block { send: peer("send")?, receive: peer("recv")?, channel };
            let mut before = None;
            for (place, step) in (0..).zip(self.children(block, "step")) {
                let step = step?;
                let own = self.number(step, &["s", "step"])?;
                if own != place {
                    return Err(self.refused(step, format!("step {own}; expected {place}")));
                }
                let (first, last) = self.step(step, &ways, chunk, &mut draft)?;
                if let Some(before) = before {
                    draft.wait(first, before, false);
                }
                if let Some(far) = self.optional(step, &["depid"])? {
                    waits.push((step, first, (far, self.number(step, &["deps"])?)));
                }
                before = Some(last);
                if ends.insert((number, own), last).is_some() {
                    let reason = format!("block {number} is there twice; change one");
                    return Err(self.refused(block, reason));
                }
            }
        }
        for (step, node, (block, number)) in waits {
            let Some(&before) = ends.get(&(block, number)) else {
                let reason = format!(
                    "it waits for step {number} of block {block}, which GPU {id} does not have; \
                     change depid or deps"
                );
                return Err(self.refused(step, reason));
            };
            draft.wait(node, before, false);
        }
        Ok(draft)
    }

    /// Adds the nodes of a step: the first and the last.
    fn step(
        &self,
        step: Element<'_, '_>,
        ways: &Block,
        chunk: u64,
        draft: &mut Draft,
    ) -> Result<(u32, u32), ForeignError> {
        let kind = self.text(step, &["type"])?;
        let (receives, sends) = match kind {
            "s" => (false, true),
            "r" | "rrc" => (true, false),
            "rcs" | "rrs" | "rrcs" => (true, true),
            "cpy" | "re" | "ra" | "nop" => (false, false),
            _ => {
                let known = "s, r, rcs, rrs, rrc, rrcs, cpy, re, ra or nop";
                return Err(self.refused(step, format!("unknown type {kind:?}; expected {known}")));
            }
        };
        let line = Some(self.line(step) as u64);
        if !receives && !sends {
            let node = draft.add(Node::Compute { stream: 0, span: Span::ZERO }, line);
            return Ok((node, node));
        }
        let count = self.number(step, &["cnt"])?;
        if !(1..=MOST_COUNT).contains(&count) {
            let reason = format!("cnt is {count}; expected 1 to {MOST_COUNT}");
            return Err(self.refused(step, reason));
        }
        let bytes = chunk.saturating_mul(count);
        let tag = ways.channel;
        let far = |peer: Option<u32>, name: &str| {
            peer.ok_or_else(|| {
                let reason = format!("type {kind} in a block whose {name} is -1; name a GPU");
                self.refused(step, reason)
            })
        };
        let received = if receives {
            let from = far(ways.receive, "recv")?;
            Some(draft.add(Node::Receive { from, tag, bytes }, line))
        } else {
            None
        };
        let sent = if sends {
            let to = far(ways.send, "send")?;
            Some(draft.add(Node::Send { to, tag, bytes }, line))
        } else {
            None
        };
        if let (Some(received), Some(sent)) = (received, sent) {
            draft.wait(sent, received, false);
        }
        let (first, last) = (received.or(sent), sent.or(received));
        Ok((first.unwrap_or_default(), last.unwrap_or_default()))
    }
}
