//! Socket addresses as the kernel reads and writes them: `sockaddr_in` and `sockaddr_in6`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The bytes of a `sockaddr_in6`, the longer of the two forms.
pub(super) const BYTES: usize = 28;
const V4_BYTES: usize = 16;
#[expect(clippy::cast_possible_truncation, reason = "2 and 10")]
const V4: u16 = libc::AF_INET as u16;
#[expect(clippy::cast_possible_truncation, reason = "2 and 10")]
const V6: u16 = libc::AF_INET6 as u16;

/// An address in the form of the kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Address {
    pub(super) bytes: [u8; BYTES],
    pub(super) length: u32,
}

impl Address {
    /// Room for an address that the kernel will write.
    pub(super) const ROOM: Self = Self { bytes: [0; BYTES], length: 28 };

    /// The kernel's form of an address.
    pub(super) fn of(address: &SocketAddr) -> Self {
        let mut bytes = [0; BYTES];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let length = match address {
            SocketAddr::V4(address) => {
                bytes[..2].copy_from_slice(&V4.to_ne_bytes());
                bytes[4..8].copy_from_slice(&address.ip().octets());
                16
            }
            SocketAddr::V6(address) => {
                bytes[..2].copy_from_slice(&V6.to_ne_bytes());
                bytes[4..8].copy_from_slice(&address.flowinfo().to_ne_bytes());
                bytes[8..24].copy_from_slice(&address.ip().octets());
                bytes[24..].copy_from_slice(&address.scope_id().to_ne_bytes());
                28
            }
        };
        Self { bytes, length }
    }

    /// The address that the kernel wrote; [`None`] if it is of another family.
    pub(super) fn get(&self) -> Option<SocketAddr> {
        let length = (self.length as usize).min(BYTES);
        let bytes = &self.bytes[..length];
        let family = u16::from_ne_bytes(array(bytes, 0)?);
        let port = u16::from_be_bytes(array(bytes, 2)?);
        if family == V4 && length >= V4_BYTES {
            let ip = Ipv4Addr::from(array::<4>(bytes, 4)?);
            Some(SocketAddrV4::new(ip, port).into())
        } else if family == V6 {
            let flow = u32::from_ne_bytes(array(bytes, 4)?);
            let ip = Ipv6Addr::from(array::<16>(bytes, 8)?);
            let scope = u32::from_ne_bytes(array(bytes, 24)?);
            Some(SocketAddrV6::new(ip, port, flow, scope).into())
        } else {
            None
        }
    }
}

/// The `N` bytes from `start` on, if they are there.
fn array<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..start + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["127.0.0.1:7000", "255.255.255.255:65535", "[::1]:1", "[fe80::1:2]:443"] {
            let address: SocketAddr = text.parse().unwrap();
            let form = Address::of(&address);
            assert_eq!(form.get(), Some(address));
            assert_eq!(socket2::SockAddr::from(address).len(), form.length, "{text}");
        }
        let scoped = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 9, 3, 4).into();
        assert_eq!(Address::of(&scoped).get(), Some(scoped));
    }

    #[test]
    fn short_and_foreign_addresses_are_none() {
        let mut form = Address::of(&"127.0.0.1:1".parse().unwrap());
        form.length = 8;
        assert_eq!(form.get(), None);
        form.length = 0;
        assert_eq!(form.get(), None);
        form = Address { bytes: [1; BYTES], length: 28 };
        assert_eq!(form.get(), None);
    }
}
