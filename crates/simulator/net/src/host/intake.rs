//! The intake of a slow host, which takes in less than its link brings.
//!
//! Packets that have arrived wait in the buffer of the NIC, and the host takes them in one after
//! the other. Where the buffer is full, the host pauses its switch for the classes that PFC
//! protects, and drops packets of the others. Each of both kinds has the buffer for itself, or data
//! that a pause holds back would leave no room for ACKs, which it does not hold.
//!
//! Such a host has components of its own kinds for its arrivals and its NIC, so that other hosts
//! need not ask whether they are slow. At a slow host nothing runs ahead of time, and every
//! packet to it has an event of its own.

use std::collections::VecDeque;

use incast_cc::{Bytes, Rate, Span, Time};

use super::Host;
use crate::Transit;
use crate::calendar::ComponentId;
use crate::frame::Frame;
use crate::trace::PacketEvent;

/// The settings of a host that takes in less than its link brings.
#[derive(Clone, Copy, Debug)]
pub struct IntakeConfig {
    /// The rate at which the host takes packets in; zero where it takes in nothing.
    pub rate: Rate,
    /// The rate of the link into the host, at which the host takes in packets when it is not slow.
    pub line_rate: Rate,
    /// The extra time for a segment of a stream that is not the next one.
    pub gap: Span,
    /// The bytes that may wait.
    pub buffer: u64,
    /// The distance below `buffer` at which the switch may send again, in bytes.
    pub xon_offset: u64,
    /// A bit for each class, set if PFC protects it.
    pub protected: u8,
    /// The time during which the host is slow: from its start until before its end.
    pub lasts: (Time, Time),
}

/// The intake of a slow host.
#[derive(Debug)]
pub(crate) struct Intake {
    config: IntakeConfig,
    /// The component of the moment at which the first packet is taken in.
    component: ComponentId,
    packets: VecDeque<Frame>,
    /// The bytes that wait, of classes without PFC and of those that it protects.
    bytes: [u64; 2],
    most: u64,
    /// A bit for each class that the switch is to pause.
    paused: u8,
    /// PFC frames, which go before all packets.
    pfc: VecDeque<Frame>,
    pauses: u64,
}

impl IntakeConfig {
    /// Whether packets wait at `now` although none is before them.
    fn is_slow(&self, now: Time) -> bool {
        (self.lasts.0..self.lasts.1).contains(&now)
    }

    /// Whether PFC protects the class of a frame.
    fn is_protected(&self, frame: &Frame) -> bool {
        self.protected & 1 << frame.class() != 0
    }

    /// The time at which the packet that is first at `now` is taken in; it takes `more` than its
    /// bytes do.
    fn done(&self, now: Time, wire: u16, more: Span) -> Time {
        let wire = Bytes::new(u64::from(wire));
        let later = |from: Time, rate: Rate, more: Span| {
            let takes = rate.time_for(wire).as_ps().saturating_add(more.as_ps());
            Time::from_ps(from.as_ps().saturating_add(takes))
        };
        if self.is_slow(now) {
            later(now, self.rate, more).min(later(self.lasts.1, self.line_rate, Span::ZERO))
        } else {
            later(now, self.line_rate, Span::ZERO)
        }
    }
}

impl Intake {
    pub(crate) fn new(config: IntakeConfig, component: ComponentId) -> Self {
        Self {
            config,
            component,
            packets: VecDeque::new(),
            bytes: [0; 2],
            most: 0,
            paused: 0,
            pfc: VecDeque::new(),
            pauses: 0,
        }
    }

    /// The packets that wait.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Frame> {
        self.packets.iter()
    }

    pub(crate) fn packets_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.packets.iter_mut()
    }

    pub(crate) fn renumber(&mut self, components: &[ComponentId]) {
        self.component = components[self.component as usize];
    }

    /// The pauses that the host sent since measurement started.
    pub(crate) const fn pauses(&self) -> u64 {
        self.pauses
    }

    /// The most bytes that have waited, over the whole run.
    pub(crate) const fn most(&self) -> u64 {
        self.most
    }

    /// Forgets pauses and their frames: the link has failed, and the far end does the same.
    pub(super) fn forget_pauses(&mut self) {
        self.paused = 0;
        self.pfc.clear();
    }
}

impl Host {
    /// Takes a packet from the link of a slow host, which waits or is dropped. Returns whether the
    /// frame is to be handled at once instead.
    pub(crate) fn receives_at_once(
        &mut self,
        now: Time,
        frame: &Frame,
        transit: &mut Transit,
    ) -> bool {
        let Some(intake) = &mut self.intake else { return true };
        let config = intake.config;
        // The NIC itself obeys PFC.
        if frame.is_pfc() || intake.packets.is_empty() && !config.is_slow(now) {
            return true;
        }
        let (wire, bit) = (u64::from(frame.wire), 1 << frame.class());
        let is_protected = config.is_protected(frame);
        let bytes = &mut intake.bytes[usize::from(is_protected)];
        if *bytes + wire > config.buffer {
            if !is_protected {
                self.failures.at(0).refused.add(frame.wire);
                let dropped = (PacketEvent::Dropped, None);
                self.trace.packet(now, 0, frame, dropped, &transit.packets);
                transit.packets.drop(frame);
                return false;
            }
            if intake.paused & bit == 0 {
                intake.paused |= bit;
                intake.pauses += u64::from(now >= self.start);
                intake.pfc.push_back(Frame::pfc(frame.class(), true));
            }
        }
        *bytes += wire;
        intake.most = intake.most.max(intake.bytes.iter().sum());
        intake.packets.push_back(*frame);
        if intake.packets.len() == 1 {
            self.begin_to_take_in(now, transit);
        }
        self.send_pfc(now, transit);
        false
    }

    /// Begins to take in the packet that has waited longest, if one waits. The host has handled all
    /// packets before it, so whether it comes after a gap is known.
    pub(crate) fn begin_to_take_in(&self, now: Time, transit: &mut Transit) {
        let Some(intake) = &self.intake else { return };
        let Some(frame) = intake.packets.front() else { return };
        let config = &intake.config;
        let gap = !config.gap.is_zero() && self.is_after_a_gap(frame, transit);
        let more = if gap { config.gap } else { Span::ZERO };
        transit.calendar.schedule(intake.component, config.done(now, frame.wire, more));
    }

    /// Whether a packet is a segment of a stream that is not the next one.
    fn is_after_a_gap(&self, frame: &Frame, transit: &Transit) -> bool {
        self.endpoint.is_after_a_gap(&transit.packets.form(frame, self.wire.header))
    }

    /// Takes in the packet that has waited longest, which the host is to handle now, before it
    /// begins with the next.
    pub(crate) fn take_from_buffer(&mut self, now: Time, transit: &mut Transit) -> Option<Frame> {
        let intake = self.intake.as_mut()?;
        let frame = intake.packets.pop_front()?;
        let is_protected = intake.config.is_protected(&frame);
        intake.bytes[usize::from(is_protected)] -= u64::from(frame.wire);
        if intake.bytes[1] <= intake.config.buffer.saturating_sub(intake.config.xon_offset) {
            let paused = std::mem::take(&mut intake.paused);
            let classes = (0..8).filter(|class| paused & 1 << class != 0);
            intake.pfc.extend(classes.map(|class| Frame::pfc(class, false)));
            self.send_pfc(now, transit);
        }
        Some(frame)
    }

    /// Handles the event of a slow host's NIC: its link is free.
    pub(crate) fn on_slow_port(&mut self, now: Time, transit: &mut Transit) {
        self.send_pfc(now, transit);
        self.work(now, transit);
    }

    /// Sends the next PFC frame if the link is free, and asks for the event when it will be.
    fn send_pfc(&mut self, now: Time, transit: &mut Transit) {
        let Some(intake) = &mut self.intake else { return };
        if self.nic.is_free(now)
            && let Some(frame) = intake.pfc.pop_front()
        {
            self.nic.transmit(now, &frame, transit);
        }
        if !intake.pfc.is_empty() && !self.nic.is_down() {
            self.nic.wait(&mut transit.calendar);
        }
    }
}
