//! Everything that crosses the wire.

use super::sys;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Listens until it is dropped.
pub(crate) struct Wire {
    packets: Arc<Mutex<Vec<Vec<u8>>>>,
    over: Arc<AtomicBool>,
}

impl Wire {
    /// Listens in the calling thread's network.
    pub(super) fn tap() -> Self {
        let socket = sys::packets().expect("a packet socket");
        rustix::net::sockopt::set_socket_timeout(
            &socket,
            rustix::net::sockopt::Timeout::Recv,
            Some(Duration::from_millis(200)),
        )
        .expect("a time-out");
        let (packets, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (heard, end) = (Arc::clone(&packets), Arc::clone(&over));
        thread::spawn(move || {
            let mut from = File::from(socket);
            let mut block = vec![0; 65536];
            while !end.load(Ordering::Relaxed) {
                if let Ok(count) = from.read(&mut block) {
                    heard.lock().expect("the log").push(block[..count].to_vec());
                }
            }
        });
        Self { packets, over }
    }

    /// How many packets carry this text, whatever the case of its letters.
    pub(crate) fn carried(&self, text: &str) -> usize {
        // What was sent before is on its way at most this long.
        thread::sleep(Duration::from_millis(20));
        let text = text.to_lowercase().into_bytes();
        let packets = self.packets.lock().expect("the log");
        let holds =
            |packet: &&Vec<u8>| packet.to_ascii_lowercase().windows(text.len()).any(|part| part == text);
        packets.iter().filter(holds).count()
    }

    /// How many packets of an IPv4 protocol came from us: 1 for ICMP, 17 for UDP.
    pub(crate) fn of_protocol(&self, protocol: u8) -> usize {
        thread::sleep(Duration::from_millis(20));
        let own = [203, 0, 113, 1];
        let packets = self.packets.lock().expect("the log");
        let ours = |packet: &&Vec<u8>| {
            packet.get(12..14) == Some(&[8, 0])
                && packet.get(23) == Some(&protocol)
                && packet.get(26..30) == Some(&own)
        };
        packets.iter().filter(ours).count()
    }

    pub(crate) fn forget(&self) {
        self.packets.lock().expect("the log").clear();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
