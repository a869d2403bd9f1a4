//! The data path takes no memory: sends, receives and stamps after the batches were made, and
//! sealing and opening datagrams of an open connection.

#![expect(unsafe_code, reason = "an allocator that counts")]

use incast_udp::security::Cipher;
use incast_udp::socket::{Features, Options, ReceiveBatch, SendBatch, Socket, Transmit};
use incast_udp::wire::{Close, Frame, Frames, HEADER_BYTES, Mode};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use crate::alone;
use crate::connect::{client_end, connect, server_end};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn batches_take_memory_once() {
    let _turn = alone();
    let features = Features::probe().unwrap();
    let open = || Socket::open(&Options::at("127.0.0.1:0".parse().unwrap()), features).unwrap();
    let (mut from, mut to) = (open(), open());
    let address = to.address().unwrap();
    let (mut out, mut batch) = (SendBatch::new(16, 400_000), ReceiveBatch::new(16, 65_535));
    let before = COUNT.with(Cell::get);
    for round in 0..50_u32 {
        let (mut bytes, mut stamps) = (0, 0);
        for key in 0..16 {
            let stamp = Some(round * 16 + key);
            out.room()[..20_000].fill(3);
            let to = Transmit { segment: Some(1_400), stamp, ..Transmit::to(address) };
            out.commit(to, 20_000).unwrap();
        }
        while bytes < 16 * 20_000 || stamps < 16 {
            from.send(&mut out).unwrap();
            from.sent_stamps(|_| stamps += 1).unwrap();
            if to.wait(Some(Duration::from_millis(1))).unwrap() {
                to.receive(&mut batch).unwrap();
                bytes +=
                    batch.iter().flat_map(|got| got.datagrams()).map(<[u8]>::len).sum::<usize>();
            }
        }
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0);
    drop(vec![0_u8; 9]);
    assert!(COUNT.with(Cell::get) > before, "the count counts");
}

#[test]
fn datagrams_are_sealed_and_opened_without_memory() {
    let _turn = alone();
    for (mode, cipher) in [
        (Mode::Plain, Cipher::Aes128Gcm),
        (Mode::Secret, Cipher::Aes128Gcm),
        (Mode::Keys, Cipher::ChaCha20Poly1305),
    ] {
        let ends = [client_end(mode), server_end(mode)].map(|mut end| {
            end.cipher = cipher;
            end
        });
        let [mut from, mut to] = connect(&ends[0], &ends[1]);
        let mut room = [0; 1_500];
        let before = COUNT.with(Cell::get);
        for _ in 0..1_000 {
            let frame = Frame::Close(Close::Done);
            let content = frame.encode(&mut room[HEADER_BYTES..]).unwrap();
            let bytes = from.session.seal(&mut room, content).unwrap();
            let content = to.session.open(&mut room[..bytes]).unwrap();
            assert_eq!(Frames::of(content).next(), Some(Ok(frame)));
            assert!(to.session.open(&mut room[..bytes]).is_err());
        }
        assert_eq!(COUNT.with(Cell::get) - before, 0, "{mode:?}");
    }
}
