//! The worked example of `docs/tutorials/your-own-algorithm.md`, driven by hand: `cargo run -p
//! incast-cc --example aimd` prints the window of each round trip over a path that holds 20
//! segments and loses one of any more.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[expect(clippy::wildcard_imports, reason = "aimd.rs is written with `crate` for `incast_cc`")]
use incast_cc::*;

#[expect(unreachable_pub, reason = "written as a module of the library")]
mod aimd;

const MSS: Bytes = Bytes::new(1_000);
const PATH: Bytes = Bytes::new(20_000);
const RTT: Span = Span::from_us(100);

fn main() {
    let mut flow = Flow::new(MSS, Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (MSS, MSS * 10);
    let mut control = aimd::Aimd::default().start(&flow);
    let (mut now, mut sent) = (Time::ZERO, Bytes::ZERO);
    for round in 0..40 {
        let window = control.limits().cwnd;
        println!("round {round:2}: {:5.1} segments", window.get() as f64 / MSS.get() as f64);
        let first = sent;
        sent += window;
        let sent_at = now;
        now += RTT;
        if window > PATH {
            let mut loss = Loss::new(now, sent_at, MSS, LossCause::Detected);
            (loss.first, loss.end, loss.next) = (first, sent, sent);
            control.on_loss(&loss);
        } else {
            let mut ack = Ack::new(now, sent_at, window).with_rtt(RTT);
            (ack.first, ack.end, ack.next, ack.cwnd_limited) = (first, sent, sent, true);
            control.on_ack(&ack);
        }
    }
}
