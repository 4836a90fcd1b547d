use super::*;
use crate::{Builder, CommandLine, Runtime};
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

struct World {
    _base: tempfile::TempDir,
    place: PathBuf,
}

impl World {
    fn new() -> Self {
        let base = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
        let place = base.path().canonicalize().unwrap();
        for name in ["home", "ws/sub"] {
            fs::create_dir_all(place.join(name)).unwrap();
        }
        Self { _base: base, place }
    }

    fn builder(&self, workspace: &str) -> Builder {
        let home = ("HOME".into(), self.place.join("home").into_os_string());
        Runtime::builder().cwd(self.place.join(workspace)).environment([home])
    }

    fn shifts(&self) -> Shifts {
        Shifts::new(&Directories::new(&[], Some(&self.place.join("home"))), Keeping::Make)
    }

    fn plan(&self, workspace: &str) -> Plan {
        let runtime = self.builder(workspace).build().unwrap();
        let prepared = runtime.prepare(runtime.request(CommandLine::Shell("true".into()))).unwrap();
        Plan::clone(&prepared.plan)
    }

    fn files(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(self.shifts().directory).into_iter().flatten();
        listed.map(|entry| entry.unwrap().path()).collect()
    }
}

fn works_in(found: &[AtWork], place: &Path) -> bool {
    found.iter().any(|found| found.who == Worker::Sandbox && found.root == place)
}

#[test]
fn a_sandbox_is_at_work_until_it_is_over() {
    let world = World::new();
    let (shifts, others) = (world.shifts(), world.shifts());
    let plan = world.plan("ws");
    assert!(others.at_work(None).is_empty());
    let shift = shifts.begin(&plan).unwrap();
    let workspace = world.place.join("ws");
    assert!(works_in(&others.at_work(None), &workspace));
    assert!(others.at_work(Some(&shift)).is_empty());
    // A second one like it is another one.
    let second = shifts.begin(&plan).unwrap();
    assert!(works_in(&others.at_work(Some(&shift)), &workspace));
    drop(second);
    assert!(others.at_work(Some(&shift)).is_empty());
    drop(shift);
    assert!(others.at_work(None).is_empty());
    // Their files are used again.
    let files = world.files();
    assert_eq!(files.len(), 2, "{files:?}");
    let again = shifts.begin(&plan).unwrap();
    assert!(works_in(&others.at_work(None), &workspace));
    drop(again);
    assert_eq!(world.files().len(), 2);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&files[0]), mode(files[0].parent().unwrap())), (0o600, 0o700));
}

/// Whoever renames something above it does not make a sandbox go away.
#[test]
fn a_sandbox_whose_directory_was_moved_may_be_anywhere() {
    let world = World::new();
    let shifts = world.shifts();
    let shift = shifts.begin(&world.plan("ws/sub")).unwrap();
    let moved = |path: &str| {
        let found = shifts.at_work(None);
        found.iter().any(|found| found.who == Worker::Moved && found.root == world.place.join(path))
    };
    assert!(!moved("ws/sub"));
    fs::rename(world.place.join("ws"), world.place.join("away")).unwrap();
    assert!(moved("ws/sub"));
    fs::create_dir_all(world.place.join("ws/sub")).unwrap();
    assert!(moved("ws/sub"), "another one in its place");
    drop(shift);
    assert!(shifts.at_work(None).is_empty());
}

#[test]
fn what_is_old_is_removed_by_whoever_looks() {
    let world = World::new();
    let shifts = world.shifts();
    let (kept, plan) = (shifts.begin(&world.plan("ws/sub")).unwrap(), world.plan("ws"));
    drop(shifts.begin(&plan).unwrap());
    for path in world.files() {
        fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    assert!(works_in(&shifts.at_work(None), &world.place.join("ws/sub")));
    assert_eq!(world.files(), [shifts.directory.join(&kept.name)]);
    let again = shifts.begin(&plan).unwrap();
    assert!(works_in(&shifts.at_work(Some(&kept)), &world.place.join("ws")));
    drop(again);
}

#[test]
fn what_cannot_be_told_may_be_anywhere() {
    let world = World::new();
    let shifts = world.shifts();
    let shift = shifts.begin(&world.plan("ws")).unwrap();
    fs::write(shifts.directory.join(&shift.name), "").unwrap();
    assert!(works_in(&shifts.at_work(None), Path::new("/")));
    drop(shift);
    assert!(shifts.at_work(None).is_empty());
    // It says what it should when it is used again.
    let shift = shifts.begin(&world.plan("ws")).unwrap();
    assert!(works_in(&shifts.at_work(None), &world.place.join("ws")));
    drop(shift);
}

#[test]
fn nothing_is_made_where_nothing_is_kept() {
    let world = World::new();
    let place = Directories::new(&[], Some(&world.place.join("ws")));
    let quiet = Shifts::new(&place, Keeping::AsFound);
    assert!(quiet.begin(&world.plan("ws")).is_none());
    assert!(quiet.at_work(None).is_empty() && !place.state.exists());
}
