//! F14: somebody swaps a directory and a link while sandboxes are being set up.

use crate::support::{Snapshot, binaries, each_caller, exchange};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const STARTS: u32 = 500;

/// Ends the swapping also when an assertion fails: the scope waits for its threads.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn swap(one: &Path, other: &Path, over: &AtomicBool, count: &AtomicU64) {
    while !over.load(Ordering::Relaxed) {
        exchange(one, other).expect("exchange");
        count.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn f14_a_directory_and_a_link_change_places() {
    each_caller(|world| {
        // `ws/swap` is now a directory of the workspace, now a link to the place outside.
        let real = world.dir("swap");
        world.file("swap/f", "free");
        world.file("swap/kept", "kept");
        world.file("swap/hidden", "hidden");
        let link = world.link(&world.outside, "swap.link");
        world.file(world.outside.join("f"), "host");
        world.file(world.outside.join("kept"), "host");
        let key = world.file(world.outside.join("hidden"), "SECRET");
        let before = Snapshot::of(&world.outside, &[]);
        let (over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
        let (mut inside, mut refused, mut aborted) = (0, 0, 0);
        std::thread::scope(|threads| {
            let _end = End(&over);
            threads.spawn(|| swap(&real, &link, &over, &swaps));
            let probe = binaries().probe.to_str().unwrap();
            for turn in 0..STARTS {
                let (act, name) = if turn % 2 == 0 { ("write", "f") } else { ("read", "hidden") };
                let ran = world
                    .run()
                    .with("--deny-write", real.join("kept"))
                    .with("--deny-read", &key)
                    .with("--deny-read", real.join("hidden"))
                    .program([probe, act, real.join(name).to_str().unwrap()]);
                let text = ran.out();
                assert!(!text.contains("SECRET"), "the secret was read{ran}");
                match (ran.code(), text.starts_with("ok")) {
                    (0, true) => inside += 1,
                    (0, false) => refused += 1,
                    (125, _) => {
                        ran.refused_to_start(&[]);
                        aborted += 1;
                    }
                    _ => panic!("{ran}"),
                }
            }
        });
        Snapshot::of(&world.outside, &[]).same_as(&before, "after starts among swaps");
        let swaps = swaps.load(Ordering::Relaxed);
        println!("{swaps} swaps: {inside} inside, {refused} refused, {aborted} starts aborted");
        assert!(swaps > u64::from(STARTS), "hardly anything was swapped");
        assert!(inside > 0 && refused > 0, "the race met one side only: {inside} inside, {refused} refused");
        // In peace it works.
        if fs::symlink_metadata(&real).unwrap().is_symlink() {
            exchange(&real, &link).unwrap();
        }
        world.probe(["write", real.join("f").to_str().unwrap()]).ok();
    });
}
