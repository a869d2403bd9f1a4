//! A transfer with quinn under an algorithm of incast, or under one of quinn's own.
//!
//! ```sh
//! cargo run --release -p incast-quic --features example-quinn --example quinn -- timely
//! ```

#![expect(clippy::disallowed_methods, reason = "a program of real sockets reads the clock")]

mod common;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{CHUNK, Command, LOOK, Transfer};
use incast_cc::Flow;
use incast_quic::Settings;
use incast_quic::quinn::Factory;
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::crypto::{CryptoProvider, ring};
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, pem::PemObject};
use quinn::rustls::{self, CipherSuite, RootCertStore};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};

type Outcome<T> = Result<T, Box<dyn Error>>;

const OWN: [&str; 3] = ["quinn-cubic", "quinn-newreno", "quinn-bbr"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    match common::command("quinn", &OWN) {
        Command::Both(transfer) => {
            let (endpoint, pem) = server(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            let address = endpoint.local_addr()?;
            // A thread of its own, as another process would have.
            std::thread::spawn(move || serve_in_thread(endpoint));
            send(address, &pem, transfer).await
        }
        Command::Serve(address, file) => {
            let (endpoint, pem) = server(address)?;
            std::fs::write(file, pem)?;
            serve(endpoint).await;
            Ok(())
        }
        Command::Send(address, file, transfer) => {
            send(address, &std::fs::read_to_string(file)?, transfer).await
        }
    }
}

/// An endpoint that accepts connections, and its certificate.
fn server(address: SocketAddr) -> Outcome<(Endpoint, String)> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let builder = rustls::ServerConfig::builder_with_provider(aes_128());
    let config = builder
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())?;
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config)?));
    Ok((Endpoint::server(config, address)?, own.cert.pem()))
}

/// Cryptography of rustls with AES-128-GCM alone, which messages over UDP are encrypted with, too:
/// goodput is to be compared at equal work.
fn aes_128() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|one| one.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

fn serve_in_thread(endpoint: Endpoint) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(serve(endpoint)),
        Err(error) => common::fail(&format!("error: no runtime for the receiving end: {error}")),
    }
}

async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                // The sender sees what becomes of its stream.
                let _ = receive(&connection).await;
                connection.closed().await;
            }
        });
    }
}

async fn receive(connection: &Connection) -> Outcome<()> {
    let (mut answer, mut data) = connection.accept_bi().await?;
    let (mut bytes, mut first) = (0, None);
    // Until the sender resets the stream: what it still had to send does not count.
    while let Ok(Some(chunk)) = data.read_chunk(usize::MAX, false).await {
        first.get_or_insert_with(Instant::now);
        bytes += chunk.bytes.len() as u64;
    }
    let took = first.map_or(Duration::ZERO, |first| first.elapsed());
    answer.write_all(&common::reply(bytes, took)).await?;
    answer.finish()?;
    Ok(())
}

async fn send(address: SocketAddr, pem: &str, transfer: Transfer) -> Outcome<()> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes())?)?;
    let builder = rustls::ClientConfig::builder_with_provider(aes_128());
    let config = builder
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(config)?));
    config.transport_config(Arc::new(transport(&transfer)));
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(address, "localhost")?.await?;
    let (mut data, mut answer) = connection.open_bi().await?;
    let chunk = vec![0; CHUNK];
    let (start, mut rtts, mut looked) = (Instant::now(), Vec::new(), Instant::now());
    while start.elapsed() < transfer.duration {
        data.write_all(&chunk).await?;
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            rtts.push(connection.rtt());
        }
    }
    data.reset(VarInt::from_u32(0))?;
    let reply = answer.read_to_end(16).await?;
    let path = connection.stats().path;
    let lost = format!("{} of {} datagrams lost", path.lost_packets, path.sent_packets);
    common::report(&transfer.control, &reply, rtts, &lost);
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}

fn transport(transfer: &Transfer) -> TransportConfig {
    let mut config = TransportConfig::default();
    match (transfer.control.as_str(), common::algorithm(&transfer.control)) {
        (_, Some(algorithm)) => {
            let settings = Settings::new(transfer.line_rate);
            let start = move |flow: &Flow| algorithm.start(flow);
            config.congestion_controller_factory(Arc::new(Factory::new(settings, start)))
        }
        ("quinn-newreno", _) => {
            config.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
        }
        ("quinn-bbr", _) => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
        _ => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
    };
    config
}
