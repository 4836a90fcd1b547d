//! What changes while somebody looks: a directory and a link while sandboxes are being set up, and two runs at
//! the same names.

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

/// Makes one half of a bare repository in each of many directories, at the moment another run makes the other.
const HALF: &str = r#"
import mmap, os, struct, sys, time
me, rounds = int(sys.argv[1]), int(sys.argv[2])
shared = mmap.mmap(os.open('sync', os.O_RDWR), 4096)
end = time.time() + 60
def meet(mine, theirs, turn):
    struct.pack_into('<q', shared, mine * 64, turn)
    while struct.unpack_from('<q', shared, theirs * 64)[0] < turn:
        if time.time() > end:
            sys.exit('the other run did not come')
made = 0
for turn in range(1, rounds + 1):
    place = 'race/%d' % turn
    if me == 0:
        os.makedirs(place + '/objects')
    meet(me, 1 - me, turn)
    try:
        if me == 0:
            os.mkdir(place + '/refs')
        else:
            os.close(os.open(place + '/HEAD', os.O_CREAT | os.O_WRONLY))
        made += 1
    except PermissionError:
        pass
    meet(2 + me, 3 - me, turn)
print(made)
"#;

/// F24: two runs in one workspace, each with a broker of its own, make no bare repository together.
#[test]
fn f24_two_runs_make_no_repository_together() {
    const ROUNDS: usize = 100;
    each_caller(|world| {
        world.file("sync", [0; 4096]);
        let run = |me: &str| {
            world.run().opt("--").opts(["python3", "-c", HALF, me, &ROUNDS.to_string()]).start_words()
        };
        let (one, other) = (run("0"), run("1"));
        let ended = [one.finish(Duration::from_secs(100)), other.finish(Duration::from_secs(100))];
        let made: usize = ended.iter().map(|ran| ran.exits(0).out().trim().parse::<usize>().unwrap()).sum();
        let whole = |turn: &usize| {
            let place = world.ws.join(format!("race/{turn}"));
            ["HEAD", "refs", "objects"].iter().all(|name| place.join(name).exists())
        };
        let won: Vec<usize> = (1..=ROUNDS).filter(whole).collect();
        assert!(won.is_empty(), "repositories were made: {won:?}");
        // One of them always may.
        assert_eq!(made, ROUNDS);
    });
}

/// A lock that a command holds for ever keeps the name away, and nothing waits for it for long.
#[test]
fn f24_a_lock_held_inside_refuses_and_does_not_hang() {
    each_caller(|world| {
        world.dir("d");
        let text = "import fcntl, os\nlock = os.open('d', os.O_RDONLY)\nfcntl.flock(lock, fcntl.LOCK_EX)\n\
                    for name in ['HEAD', 'plain']:\n    try: open('d/' + name, 'w'); print('made')\n    \
                    except PermissionError: print('refused')";
        let ran = world.run().patience(Duration::from_secs(20)).program(["python3", "-c", text]);
        assert_eq!(ran.exits(0).out(), "refused\nmade\n", "{ran}");
    });
}
