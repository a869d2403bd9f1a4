//! Cookies, by which an address proves that it receives.

use super::error::SecurityError;
use crate::wire::{COOKIE_BYTES, ConnectionId};
use incast_cc::{Span, Time};
use ring::hmac;
use ring::rand::SystemRandom;
use std::net::{IpAddr, SocketAddr};

/// The time for which a cookie is good.
pub(super) const LIFE: Span = Span::from_secs(10);
/// The bytes of the time in a cookie. A tag follows it.
const TIME_BYTES: usize = 8;

/// The maker of cookies. It remembers none of them: a cookie is the time at which it was made, and
/// a tag under a random key over this time, the address and the connection's id.
pub(super) struct Cookies(hmac::Key);

impl Cookies {
    pub(super) fn new() -> Result<Self, SecurityError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        key.map(Self).map_err(|_| SecurityError::Random)
    }

    /// A cookie for a connection that an address opens.
    pub(super) fn make(&self, now: Time, from: SocketAddr, id: ConnectionId) -> [u8; COOKIE_BYTES] {
        let now = now.as_ps().to_be_bytes();
        let tag = hmac::sign(&self.0, &signed(now, from, id));
        let mut cookie = [0; COOKIE_BYTES];
        let (time, place) = cookie.split_at_mut(TIME_BYTES);
        time.copy_from_slice(&now);
        place.copy_from_slice(tag.as_ref());
        cookie
    }

    /// Whether the cookie was made here for this address and connection, less than [`LIFE`] ago.
    pub(super) fn is_good(
        &self,
        cookie: &[u8; COOKIE_BYTES],
        now: Time,
        from: SocketAddr,
        id: ConnectionId,
    ) -> bool {
        let (time, tag) = cookie.split_at(TIME_BYTES);
        let Ok(time) = time.try_into() else { return false };
        let age = now.as_ps().checked_sub(u64::from_be_bytes(time));
        age.is_some_and(|age| age < LIFE.as_ps())
            && hmac::verify(&self.0, &signed(time, from, id), tag).is_ok()
    }
}

/// The bytes that the tag covers.
fn signed(time: [u8; TIME_BYTES], from: SocketAddr, id: ConnectionId) -> [u8; 34] {
    let address = match from.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut bytes = [0; 34];
    bytes[..8].copy_from_slice(&time);
    bytes[8..24].copy_from_slice(&address.octets());
    bytes[24..26].copy_from_slice(&from.port().to_be_bytes());
    bytes[26..].copy_from_slice(&id.0.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_address_connection_and_time() {
        let (cookies, start) = (Cookies::new().unwrap(), Time::from_ps(5_000));
        let [from, other]: [SocketAddr; 2] =
            ["10.0.0.1:5", "10.0.0.1:6"].map(|text| text.parse().unwrap());
        let cookie = cookies.make(start, from, ConnectionId(7));
        let good = |now, from, id| cookies.is_good(&cookie, now, from, ConnectionId(id));
        assert!(good(start, from, 7) && good(Time::from_ps(4_000) + LIFE, from, 7));
        assert!(!good(start + LIFE, from, 7), "too late");
        assert!(!good(Time::ZERO, from, 7), "before it was made");
        assert!(!good(start, other, 7) && !good(start, from, 8));
        let of_other_key = Cookies::new().unwrap();
        assert!(!of_other_key.is_good(&cookie, start, from, ConnectionId(7)));
        for at in 0..COOKIE_BYTES {
            let mut cookie = cookie;
            cookie[at] ^= 1;
            assert!(!cookies.is_good(&cookie, start, from, ConnectionId(7)), "{at}");
        }
        assert!(!cookies.is_good(&[0; COOKIE_BYTES], start, from, ConnectionId(7)));
    }
}
