//! Packets that leave a host, each by an event of its own.

use incast_cc::Time;
use incast_transport::{Outgoing, clock_ns};

use super::{Begun, Host};
use crate::Transit;
use crate::frame::{Frame, Packets};
use crate::trace::PacketEvent;

impl Host {
    /// Gives the NIC what it may send.
    #[inline]
    pub(super) fn serve_nic(&mut self, now: Time, transit: &mut Transit) {
        if self.may_send_ahead(now) {
            self.send_ahead(now, transit);
        } else {
            self.send(now, transit);
        }
    }

    /// Sends the next packet if the NIC is free, and asks for the event when it will be.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves by an event")]
    #[inline(always)]
    pub(super) fn send(&mut self, now: Time, transit: &mut Transit) {
        if self.nic.is_free(now)
            && let Some(frame) = self.next_frame(now, &mut transit.packets)
        {
            self.sent.add(frame.wire);
            self.trace.packet(now, 0, &frame, (PacketEvent::Sent, None), &transit.packets);
            self.nic.transmit(now, &frame, transit);
        }
        if !self.nic.is_free(now) && self.has_packet(now) {
            self.nic.wait(&mut transit.calendar);
        }
    }

    /// Whether the NIC could send something if it were free.
    #[inline]
    pub(super) fn has_packet(&self, now: Time) -> bool {
        let open = self.nic.open_classes();
        self.endpoint.has_data(open) || self.endpoint.has_reply(now, open)
    }

    /// The next frame to send.
    #[inline]
    pub(super) fn next_frame(&mut self, now: Time, packets: &mut Packets) -> Option<Frame> {
        let open = self.nic.open_classes();
        if let Some(reply) = self.endpoint.poll_reply(now, open) {
            return Some(self.reply_frame(reply, packets));
        }
        let Some(data) = self.endpoint.poll_data(now, open) else {
            return if self.endpoint.is_one_queue() { self.late_reply(now, packets) } else { None };
        };
        Some(self.data_frame(now, &data, packets))
    }

    /// The frame of data that leaves at `now`.
    #[expect(clippy::inline_always, reason = "a packet is long, and is made where it stays")]
    #[inline(always)]
    pub(super) fn data_frame(
        &mut self,
        now: Time,
        data: &Outgoing,
        packets: &mut Packets,
    ) -> Frame {
        let wire = self.wire;
        let &Outgoing { connection, address, class, form, begins, .. } = data;
        if let Some(posted) = begins {
            self.begin(now, connection, posted);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the MTU")]
        let bytes = wire.header + form.payload() as u16;
        let sent_ns = form.sent_ns();
        let stamps = wire.telemetry.then(|| {
            let mut stamps = packets.take_spare_stamps();
            if let Some(feedback) = self.endpoint.request(now, connection, &form) {
                stamps.ask(feedback);
            }
            stamps
        });
        let mut frame = Frame::new(address, bytes, class, form, stamps, packets);
        if let Some(most) = wire.marks_after_ns
            && clock_ns(now).wrapping_sub(sent_ns) > most
            && frame.is_ect()
        {
            frame.mark();
        }
        frame
    }

    /// An ACK or report that waited behind data which is not sent after all.
    #[cold]
    pub(super) fn late_reply(&mut self, now: Time, packets: &mut Packets) -> Option<Frame> {
        let reply = self.endpoint.poll_reply(now, self.nic.open_classes())?;
        Some(self.reply_frame(reply, packets))
    }

    /// The frame of an ACK or report.
    #[expect(clippy::inline_always, reason = "a reply is long, and is made where it stays")]
    #[inline(always)]
    pub(super) fn reply_frame(&self, reply: Outgoing, packets: &mut Packets) -> Frame {
        let Outgoing { address, class, form, stamps, .. } = reply;
        let stamps = (!stamps.is_empty()).then_some(stamps);
        Frame::new(address, self.wire.ack, class, form, stamps, packets)
    }

    /// Notes the departure of a message's first packet.
    #[cold]
    pub(super) fn begin(&mut self, now: Time, connection: u32, posted: Time) {
        let (flow, data) = (self.flow(connection), self.is_data(connection));
        self.begun.push(Begun { flow, data, at: now, waited: now.since(posted) });
    }
}
