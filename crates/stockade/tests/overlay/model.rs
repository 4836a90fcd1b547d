//! Applying what an overlay holds gives what a run without one would have given.

use crate::library::World;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn path(&mut self) -> String {
        let depth = 1 + self.roll(3);
        (0..depth).map(|_| ["a", "b", "c", "d"][self.roll(4)]).collect::<Vec<_>>().join("/")
    }

    /// One act. Whether it succeeds depends on what is there, and is the same on both sides.
    fn act(&mut self) -> String {
        let (one, other, number) = (self.path(), self.path(), self.roll(1000));
        match self.roll(14) {
            0 | 1 => format!("echo {number} > {one}"),
            2 => format!("echo {number} >> {one}"),
            3 | 4 => format!("mkdir -p {one}"),
            5 => format!("rm -rf {one}"),
            6 => format!("rm {one}"),
            7 => format!("mv -T {one} {other}"),
            8 => format!("ln -s {number} {one}"),
            9 => format!("ln -s ../{other} {one}"),
            // Not whole directories: one that is copied into itself depends on the order of names.
            10 => format!("test -f {one} && cp {one} {other}"),
            11 => format!("chmod {} {one}", ["700", "755", "644", "600", "750"][self.roll(5)]),
            12 => format!("truncate -s {number} {one}"),
            _ => format!("touch {one}; rmdir {other}"),
        }
    }

    fn script(&mut self, acts: usize) -> String {
        let acts: Vec<String> = (0..acts).map(|_| format!("({}) 2>/dev/null", self.act())).collect();
        acts.join("\n")
    }
}

/// Everything below a directory that applying promises to bring.
fn tree(top: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![top.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let seen = fs::symlink_metadata(&path).unwrap();
            let content = if seen.is_dir() {
                ahead.push(path.clone());
                Vec::new()
            } else if seen.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            let mode = if seen.is_symlink() { seen.mode() & !0o7777 } else { seen.permissions().mode() };
            found.insert(path.strip_prefix(top).unwrap().to_owned(), (mode, content));
        }
    }
    found
}

/// Makes the same workspace twice.
async fn both(world: &World, first: &str) -> [PathBuf; 2] {
    let [held, bare] = ["held", "bare"].map(|name| world.place.path().join(name));
    for directory in [&held, &bare] {
        fs::create_dir(directory).unwrap();
        world.run(directory, None, first).await;
    }
    assert_eq!(tree(&held), tree(&bare), "{first}");
    [held, bare]
}

#[tokio::test]
async fn applied_is_what_a_bare_run_gives() {
    for seed in 0..25 {
        let world = World::new();
        let mut dice = Dice(seed);
        let first = dice.script(25);
        let [held, bare] = both(&world, &first).await;
        let before = tree(&held);
        let script = dice.script(25);
        let mut overlay = world.store.create(&held, None).unwrap();
        world.run(&held, Some(&overlay), &script).await;
        world.run(&bare, None, &script).await;
        assert_eq!(tree(&held), before, "seed {seed}: the host changed\n{script}");
        let told = overlay.changes().unwrap();
        let applied =
            world.apply(&mut overlay).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{script}"));
        assert_eq!(tree(&held), tree(&bare), "seed {seed}\nfirst:\n{first}\nthen:\n{script}\ntold: {told:?}");
        assert_eq!((applied.left_out.len(), applied.remaining), (0, 0), "seed {seed}");
        assert_eq!(overlay.changes().unwrap(), [], "seed {seed}");
    }
}

/// The same in several runs of one overlay, with parts applied in between.
#[tokio::test]
async fn several_runs_and_applies_end_up_the_same() {
    for seed in 100..108 {
        let world = World::new();
        let mut dice = Dice(seed);
        let [held, bare] = both(&world, &dice.script(25)).await;
        let mut overlay = world.store.create(&held, Some("runs")).unwrap();
        let mut done = String::new();
        for round in 0..4 {
            let script = dice.script(8);
            world.run(&held, Some(&overlay), &script).await;
            world.run(&bare, None, &script).await;
            done.push_str(&format!("{script}\n-- round {round}\n"));
            if round % 2 == 1 {
                world.apply(&mut overlay).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{done}"));
                assert_eq!(tree(&held), tree(&bare), "seed {seed}\n{done}");
            }
        }
    }
}
