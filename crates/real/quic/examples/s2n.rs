//! A transfer with s2n-quic under an algorithm of incast, or under one of its own.
//!
//! ```sh
//! cargo run --release -p incast-quic --features example-s2n --example s2n -- timely
//! ```

#![expect(clippy::disallowed_methods, reason = "a program of real sockets reads the clock")]

mod common;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{CHUNK, Command, LOOK, Transfer};
use incast_cc::Flow;
use incast_quic::Settings;
use incast_quic::s2n::Endpoint;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::{Client, Connection, Server};

type Outcome<T> = Result<T, Box<dyn Error>>;

const OWN: [&str; 2] = ["s2n-cubic", "s2n-bbr"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    match common::command("s2n", &OWN) {
        Command::Both(transfer) => {
            let (port, pem) = serve_in_thread()?;
            send(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &pem, &transfer).await
        }
        Command::Serve(address, file) => {
            let (server, pem) = server(address)?;
            std::fs::write(file, pem)?;
            serve(server).await;
            Ok(())
        }
        Command::Send(address, file, transfer) => {
            send(address, &std::fs::read_to_string(file)?, &transfer).await
        }
    }
}

/// An endpoint that accepts connections, and its certificate.
fn server(address: SocketAddr) -> Outcome<(Server, String)> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (pem, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let server =
        Server::builder().with_tls((pem.as_str(), key.as_str()))?.with_io(address)?.start()?;
    Ok((server, pem))
}

/// The receiving end, with a thread of its own, as another process would have.
fn serve_in_thread() -> Outcome<(u16, String)> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let run = || -> Outcome<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (server, pem) = server(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
                tell.send((server.local_addr()?.port(), pem))?;
                serve(server).await;
                Ok(())
            })
        };
        if let Err(error) = run() {
            common::fail(&format!("error: the receiving end does not start: {error}"));
        }
    });
    Ok(told.recv()?)
}

async fn serve(mut server: Server) {
    while let Some(connection) = server.accept().await {
        tokio::spawn(async move {
            // The sender sees what becomes of its stream.
            let _ = receive(connection).await;
        });
    }
}

async fn receive(mut connection: Connection) -> Outcome<()> {
    let Some(stream) = connection.accept_bidirectional_stream().await? else { return Ok(()) };
    let (mut data, mut answer) = stream.split();
    let (mut bytes, mut first) = (0, None);
    // Until the sender resets the stream: what it still had to send does not count.
    while let Ok(Some(chunk)) = data.receive().await {
        first.get_or_insert_with(Instant::now);
        bytes += chunk.len() as u64;
    }
    let took = first.map_or(Duration::ZERO, |first| first.elapsed());
    answer.send(common::reply(bytes, took).to_vec().into()).await?;
    answer.close().await?;
    Ok(())
}

async fn send(address: SocketAddr, pem: &str, transfer: &Transfer) -> Outcome<()> {
    let seen = Seen::default();
    let builder = Client::builder()
        .with_tls(pem)?
        .with_io(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?
        .with_event(seen.clone())?;
    let mut client = match (transfer.control.as_str(), common::algorithm(&transfer.control)) {
        (_, Some(algorithm)) => {
            let settings = Settings::new(transfer.line_rate);
            let start = move |flow: &Flow| algorithm.start(flow);
            builder.with_congestion_controller(Endpoint::new(settings, start))?.start()?
        }
        ("s2n-bbr", _) => builder.with_congestion_controller(Bbr::default())?.start()?,
        _ => builder.with_congestion_controller(Cubic::default())?.start()?,
    };
    let connect = Connect::new(address).with_server_name("localhost");
    let mut connection = client.connect(connect).await?;
    let (mut answer, mut data) = connection.open_bidirectional_stream().await?.split();
    let (chunk, start) = (Bytes::from(vec![0; CHUNK]), Instant::now());
    while start.elapsed() < transfer.duration {
        data.send(chunk.clone()).await?;
    }
    data.reset(0_u32.into())?;
    let mut reply = Vec::new();
    while let Some(chunk) = answer.receive().await? {
        reply.extend_from_slice(&chunk);
    }
    let seen = seen.take();
    let lost = format!("{} of {} datagrams lost", seen.lost, seen.sent);
    common::report(&transfer.control, &reply, seen.rtts, &lost);
    connection.close(0_u32.into());
    client.wait_idle().await?;
    Ok(())
}

/// The events of a connection that the report is about.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    sent: u64,
    lost: u64,
    looked: Option<Instant>,
    rtts: Vec<Duration>,
}

impl Seen {
    fn with<T>(&self, see: impl FnOnce(&mut Counts) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> Counts {
        self.with(std::mem::take)
    }
}

impl Subscriber for Seen {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _meta: &ConnectionMeta, _info: &ConnectionInfo) {}

    fn on_packet_sent(&mut self, (): &mut (), _: &ConnectionMeta, _: &events::PacketSent) {
        self.with(|counts| counts.sent += 1);
    }

    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, _: &events::PacketLost) {
        self.with(|counts| counts.lost += 1);
    }

    fn on_recovery_metrics(
        &mut self,
        (): &mut (),
        _: &ConnectionMeta,
        event: &events::RecoveryMetrics,
    ) {
        self.with(|counts| {
            if counts.looked.is_none_or(|looked| looked.elapsed() > LOOK) {
                counts.looked = Some(Instant::now());
                counts.rtts.push(event.smoothed_rtt);
            }
        });
    }
}
