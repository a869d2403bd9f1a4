//! The keys of one direction of a connection, each for a part of the packet numbers.

use ring::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};
use std::fmt;
use zeroize::Zeroizing;

/// The packets of one key. QUIC allows AES-GCM 2^23 (RFC 9001, section 6.6); with fewer, a key that
/// leaks tells less, and a new one costs microseconds.
pub const PACKETS_OF_A_KEY: u64 = 1 << 20;
/// The bytes that a cipher adds to a datagram.
pub(super) const TAG_BYTES: usize = 16;

/// The cipher of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cipher {
    /// AES-128-GCM, for processors with instructions for it.
    Aes128Gcm = 1,
    /// ChaCha20-Poly1305, for all others.
    ChaCha20Poly1305 = 2,
}

impl Cipher {
    /// The faster cipher on this processor.
    pub fn of_this_processor() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_aes = is_x86_feature_detected!("aes") && is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let has_aes = std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let has_aes = false;
        if has_aes { Self::Aes128Gcm } else { Self::ChaCha20Poly1305 }
    }

    /// The cipher of two ends: AES only if both prefer it.
    pub(super) fn of_both(self, other: Self) -> Self {
        if self == other { self } else { Self::ChaCha20Poly1305 }
    }

    pub(super) const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Aes128Gcm),
            2 => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Aes128Gcm => &AES_128_GCM,
            Self::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        }
    }
}

/// A key, for [`PACKETS_OF_A_KEY`] packet numbers.
struct Key {
    /// The packet numbers of the key, divided by [`PACKETS_OF_A_KEY`].
    generation: u64,
    aead: LessSafeKey,
    /// The nonce of packet number zero.
    iv: [u8; 12],
}

impl Key {
    /// The nonce of a packet number: no other number has the same.
    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The source of keys. The secret of a key is derived from that of the key before it, and takes its
/// place: nobody who takes hold of it later learns earlier keys.
struct Chain {
    cipher: Cipher,
    secret: Zeroizing<[u8; 32]>,
    generation: u64,
}

impl Chain {
    /// The next key.
    fn step(&mut self) -> Key {
        let algorithm = self.cipher.algorithm();
        let (mut key, mut secret) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
        let mut iv = [0; 12];
        let key = &mut key[..algorithm.key_len()];
        expand(&self.secret, b"incast udp key", key);
        expand(&self.secret, b"incast udp iv", &mut iv);
        expand(&self.secret, b"incast udp next", &mut *secret);
        self.secret = secret;
        let key = UnboundKey::new(algorithm, key);
        let key = key.unwrap_or_else(|_| unreachable!("the key has the cipher's length"));
        let generation = self.generation;
        self.generation += 1;
        Key { generation, aead: LessSafeKey::new(key), iv }
    }
}

/// HKDF-Expand with SHA-256.
fn expand(secret: &[u8; 32], label: &[u8], out: &mut [u8]) {
    struct Bytes(usize);
    impl KeyType for Bytes {
        fn len(&self) -> usize {
            self.0
        }
    }
    let secret = Prk::new_less_safe(HKDF_SHA256, secret);
    let done = secret.expand(&[label], Bytes(out.len())).and_then(|key| key.fill(out));
    done.unwrap_or_else(|_| unreachable!("HKDF gives 8,160 bytes"));
}

/// The keys of the direction in which this end sends.
pub(super) struct Sealer {
    chain: Chain,
    key: Key,
}

impl Sealer {
    pub(super) fn new(cipher: Cipher, secret: Zeroizing<[u8; 32]>) -> Self {
        let mut chain = Chain { cipher, secret, generation: 0 };
        Self { key: chain.step(), chain }
    }

    pub(super) fn cipher(&self) -> Cipher {
        self.chain.cipher
    }

    /// Encrypts `content` in place, and returns the tag. Numbers may not fall, nor come twice.
    pub(super) fn seal(
        &mut self,
        number: u64,
        header: &[u8],
        content: &mut [u8],
    ) -> [u8; TAG_BYTES] {
        while self.key.generation < number / PACKETS_OF_A_KEY {
            self.key = self.chain.step();
        }
        let nonce = self.key.nonce(number);
        let tag = self.key.aead.seal_in_place_separate_tag(nonce, Aad::from(header), content);
        let tag = tag.unwrap_or_else(|_| unreachable!("a datagram is below 64 GB"));
        let mut bytes = [0; TAG_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }
}

/// The keys of the direction in which the peer sends: the latest in use, the one before it for
/// datagrams that are late, and the next.
pub(super) struct Opener {
    chain: Chain,
    before: Option<Key>,
    key: Key,
    next: Key,
}

impl Opener {
    pub(super) fn new(cipher: Cipher, secret: Zeroizing<[u8; 32]>) -> Self {
        let mut chain = Chain { cipher, secret, generation: 0 };
        Self { before: None, key: chain.step(), next: chain.step(), chain }
    }

    /// Whether the number has a key that is neither gone nor to come.
    pub(super) fn has_key(&self, number: u64) -> bool {
        self.key_of(number).is_some()
    }

    fn key_of(&self, number: u64) -> Option<&Key> {
        let generation = number / PACKETS_OF_A_KEY;
        let keys = [Some(&self.key), self.before.as_ref(), Some(&self.next)];
        keys.into_iter().flatten().find(|key| key.generation == generation)
    }

    /// Decrypts `sealed`, content and tag, in place, and returns whether it is what was sealed.
    pub(super) fn open(&mut self, number: u64, header: &[u8], sealed: &mut [u8]) -> bool {
        let Some(key) = self.key_of(number) else { return false };
        let nonce = key.nonce(number);
        if key.aead.open_in_place(nonce, Aad::from(header), sealed).is_err() {
            return false;
        }
        if number / PACKETS_OF_A_KEY == self.next.generation {
            let next = self.chain.step();
            let key = std::mem::replace(&mut self.next, next);
            self.before = Some(std::mem::replace(&mut self.key, key));
        }
        true
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("generation", &self.key.generation).finish_non_exhaustive()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("generation", &self.key.generation).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros and their tag under the keys of two generations. The values are not from this code,
    /// but from HKDF, GHASH and Poly1305 in Python, with ciphers of OpenSSL.
    #[test]
    fn keys_stay_as_they_are_in_version_1() {
        for (cipher, want) in [
            (
                Cipher::Aes128Gcm,
                [
                    (0xdb15_efb5_cead_9db7, 0xad4a_17c1_948a_df9c_7d91_4333_3b6f_60a8),
                    (0x737c_0b68_1729_068c, 0xe839_99ec_e1d6_757c_c4ac_95be_345b_467e),
                ],
            ),
            (
                Cipher::ChaCha20Poly1305,
                [
                    (0xbb42_fbaf_cf8b_5cef, 0xfefd_d6cf_01b0_3c67_3dac_88e7_0b9a_aa08),
                    (0x2d3a_7d2c_78ae_aca1, 0x212e_c14b_7a22_1265_c59f_0f34_d24e_da33),
                ],
            ),
        ] {
            let mut sealer = Sealer::new(cipher, Zeroizing::new([7; 32]));
            for (number, want) in [0, PACKETS_OF_A_KEY + 1].into_iter().zip(want) {
                let secret = sealer.chain.secret.clone();
                let mut content = [0; 8];
                let tag = sealer.seal(number, b"header", &mut content);
                let got = (u64::from_be_bytes(content), u128::from_be_bytes(tag));
                assert_eq!(got, want);
                assert_eq!(secret == sealer.chain.secret, number == 0, "a key has its secret");
            }
        }
    }
}
