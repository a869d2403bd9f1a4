//! A handshake and keys that protect nothing, for connections of quinn inside one process.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

/// The length of the tags and of the samples of TLS 1.3.
const TAG: usize = 16;

/// The configuration of either side, and all of its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(
        &self,
        _version: u32,
        _dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; TAG]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

/// The handshake: the client's parameters, a greeting, the server's parameters, an end.
struct Handshake {
    side: Side,
    own: Vec<u8>,
    peer: Option<Vec<u8>>,
    /// The number of messages written.
    written: u8,
    /// The number of messages read.
    read: u8,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        Self { side, own, peer: None, written: 0, read: 0 }
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => self.written < 3,
            Side::Server => self.read < 2,
        }
    }

    fn read_handshake(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        self.read += 1;
        let parameters = match self.side {
            Side::Client => 2,
            Side::Server => 1,
        };
        if self.read == parameters {
            self.peer = Some(message.to_vec());
        }
        Ok(self.read == parameters)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(mut message) = self.peer.as_deref() else { return Ok(None) };
        Ok(Some(TransportParameters::read(self.side, &mut message)?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (message, with_keys): (&[u8], bool) = match (self.side, self.written, self.read) {
            (Side::Client, 0, _) => (&self.own, false),
            (Side::Client, 1, 1..) => (b"", true),
            (Side::Client, 2, 2..) => (b"end", true),
            (Side::Server, 0, 1..) => (b"greeting", true),
            (Side::Server, 1, 1..) => (&self.own, true),
            _ => return None,
        };
        buf.extend_from_slice(message);
        self.written += 1;
        with_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
        packet: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HmacKey for Plain {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        // Different for each connection ID, as the reset tokens that are made of it must be.
        for (place, byte) in signature_out.iter_mut().enumerate() {
            *byte = data.get(place % data.len().max(1)).map_or(0, |byte| !byte);
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for Plain {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        _additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
