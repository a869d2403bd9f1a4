//! Connections of quinn between two ends in memory, told the time by whoever drives them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, RttEstimator, ServerConfig, TransportConfig,
};

use crate::plain::Plain;

/// An end: an endpoint of quinn and its connection.
pub(crate) struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The address of the other end.
    peer: SocketAddr,
}

/// A datagram under way.
pub(crate) struct Datagram {
    pub(crate) bytes: BytesMut,
    /// The ECN bits of its IP header.
    pub(crate) ecn: Option<EcnCodepoint>,
}

impl End {
    /// The connection, which the client has from the start, and the server from the first datagram.
    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// The next datagram that this end wants to send.
    pub(crate) fn send(&mut self, now: Instant) -> Option<Datagram> {
        self.settle();
        let (mut buffer, (_, connection)) = (Vec::new(), self.connection.as_mut()?);
        let transmit = connection.poll_transmit(now, 1, &mut buffer)?;
        Some(Datagram { bytes: BytesMut::from(&buffer[..transmit.size]), ecn: transmit.ecn })
    }

    /// Takes in a datagram.
    pub(crate) fn receive(&mut self, now: Instant, datagram: Datagram) {
        let (mut buffer, Datagram { bytes, ecn }) = (Vec::new(), datagram);
        match self.endpoint.handle(now, self.peer, None, ecn, bytes, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut buffer, None).ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.settle();
    }

    /// Passes events between the endpoint and the connection, and drops those for applications.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
    }
}

/// A client and a server that do not know of each other yet. The client sends with `transport`.
pub(crate) fn ends(now: Instant, transport: TransportConfig) -> (End, End) {
    let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut config = EndpointConfig::new(Arc::new(Plain));
    config.rng_seed(Some([7; 32]));
    let config = Arc::new(config);
    let mut server = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
    server.transport_config(Arc::new(quiet()));
    let server = End {
        endpoint: Endpoint::new(config.clone(), Some(Arc::new(server)), true, None),
        connection: None,
        peer: address(1),
    };
    let mut endpoint = Endpoint::new(config, None, true, None);
    let mut client = ClientConfig::new(Arc::new(Plain));
    client.transport_config(Arc::new(transport));
    let connection = endpoint.connect(now, client, address(2), "memory").ok();
    (End { endpoint, connection, peer: address(2) }, server)
}

/// The configuration of an end that sends nothing of its own accord.
pub(crate) fn quiet() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.mtu_discovery_config(None).max_idle_timeout(None);
    config
}

/// quinn's RTT estimator, which quinn lets no other crate make: that of a connection whose probes
/// take as long as it is told.
pub(crate) struct Estimator {
    client: End,
    server: End,
    now: Instant,
    tap: Arc<Tap>,
}

/// The estimator as quinn has shown it last.
#[derive(Default)]
struct Tap(Mutex<Option<RttEstimator>>);

impl Estimator {
    /// An estimator without a sample.
    pub(crate) fn new(start: Instant) -> Self {
        let tap = Arc::new(Tap::default());
        let mut transport = quiet();
        transport.congestion_controller_factory(tap.clone());
        let (client, server) = ends(start, transport);
        let mut made = Self { client, server, now: start, tap };
        // The handshake, and what both ends have to say after it.
        while made.exchange(Duration::ZERO) {}
        // A sample after which all is as before shows the estimator without any.
        made.forget();
        made.sample(Duration::from_millis(1));
        made.forget();
        made
    }

    /// Goes back to an estimator without a sample.
    fn forget(&mut self) {
        if let Some(connection) = self.client.connection() {
            connection.path_changed(self.now);
        }
    }

    /// Adds a sample. Returns the estimator before it, which quinn shows the controller with the
    /// ACK that tells of the sample.
    pub(crate) fn sample(&mut self, rtt: Duration) -> RttEstimator {
        // The server answers the second datagram at once.
        for _ in 0..2 {
            if let Some(connection) = self.client.connection() {
                connection.ping();
            }
            if let Some(probe) = self.client.send(self.now) {
                self.server.receive(self.now, probe);
            }
        }
        self.exchange(rtt);
        self.last()
    }

    /// The estimator as quinn has shown it last.
    pub(crate) fn last(&self) -> RttEstimator {
        let last = *self.tap.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.unwrap_or_else(|| unreachable!("the handshake was acknowledged"))
    }

    /// Delivers what both ends have to say, the server's answers after `rtt`, and returns whether
    /// there were any.
    fn exchange(&mut self, rtt: Duration) -> bool {
        while let Some(datagram) = self.client.send(self.now) {
            self.server.receive(self.now, datagram);
        }
        let answers: Vec<_> = std::iter::from_fn(|| self.server.send(self.now)).collect();
        self.now += rtt;
        let any = !answers.is_empty();
        for answer in answers {
            self.client.receive(self.now, answer);
        }
        any
    }
}

impl ControllerFactory for Tap {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Tapping(self))
    }
}

/// A controller that allows everything and notes the estimator.
struct Tapping(Arc<Tap>);

impl Controller for Tapping {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        u64::MAX
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(self.0.clone()))
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_smoothed_as_rfc_6298_has_it() {
        #[expect(clippy::disallowed_methods, reason = "any instant will do")]
        let mut estimator = Estimator::new(Instant::now());
        let us = Duration::from_micros;
        let initial = estimator.sample(us(100)).get();
        assert_eq!(initial, Duration::from_millis(333), "quinn's initial RTT");
        assert_eq!(estimator.sample(us(180)).get(), us(100), "the first sample as it is");
        let third = estimator.sample(us(50));
        assert_eq!(third.get(), us(110), "an eighth of the second");
        assert_eq!(third.conservative(), us(180));
        let fourth = estimator.sample(us(1_000));
        assert_eq!((fourth.get(), fourth.min()), (Duration::from_nanos(102_500), us(50)));
        for _ in 0..10_000 {
            estimator.sample(us(1_000));
        }
        let settled = estimator.last().get();
        assert!(settled > us(999) && settled <= us(1_000), "{settled:?}");
    }
}
