//! Where an embedder keeps the records of its runtimes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use stockade::{
    AuditLog, BuildError, Builder, Captured, CommandLine, Event, Filter, Flags, Hidden, RecordFault, Records,
    Runtime, ViolationStore, Wiring, remove_violations,
};
use tempfile::TempDir;

/// A home with a workspace, and a directory outside of it.
struct Place {
    keep: TempDir,
}

impl Place {
    fn new() -> Self {
        // Not in /tmp, which is a private one inside.
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        for name in ["home/work", "outside"] {
            fs::create_dir_all(keep.path().join(name)).unwrap();
        }
        Self { keep }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    fn builder(&self) -> Builder {
        let variable = |name: &str, value: &Path| (OsString::from(name), value.as_os_str().to_owned());
        let home = variable("HOME", &self.at("home"));
        let path = variable("PATH", Path::new("/usr/bin:/bin"));
        Runtime::builder().cwd(self.at("home/work")).environment([home, path])
    }

    fn standard(&self) -> PathBuf {
        self.at("home/.local/state/stockade")
    }
}

async fn run(runtime: &Runtime, text: &str) -> Captured {
    runtime.run(CommandLine::Shell(text.into())).await.unwrap()
}

fn rows(state: &Path) -> usize {
    let all = Filter { hidden: Hidden::Include, ..Filter::default() };
    ViolationStore::new(state).query(&all).unwrap().len()
}

#[tokio::test]
async fn in_the_state_directory() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let text = format!("mkdir {}", place.at("outside/d").display());
    let done = run(&runtime, &text).await;
    assert_eq!(done.outcome.violations.len(), 1);
    assert_eq!(rows(&place.standard()), 1);
    assert_eq!(AuditLog::new(&place.standard()).verify().unwrap().lines, 3);
    assert!(runtime.record_faults().is_empty());

    let stderr = String::from_utf8(done.stderr).unwrap();
    let annotated = runtime.annotate(&stderr, &done.outcome);
    assert!(annotated.contains("<sandbox_violations>\ndeny create "), "{annotated}");
    assert_eq!(remove_violations(&annotated), stderr);
}

/// What is there without any record: the workspaces that commands have worked in, and who is at work.
const WORKSPACES: [&str; 3] = ["shifts", "workspaces", "workspaces.lock"];

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn somewhere_else_and_hidden_there() {
    let place = Place::new();
    let elsewhere = place.at("home/work/records");
    let runtime = place.builder().records(Records::In(elsewhere.clone())).build().unwrap();
    let done = run(&runtime, "cat records/audit.jsonl; echo x > records/audit.jsonl; mkdir .vscode").await;
    assert!(done.stdout.is_empty(), "{done:?}");
    assert_eq!(AuditLog::new(&elsewhere).verify().unwrap().findings, []);
    assert_eq!(rows(&elsewhere), done.outcome.violations.len());
    assert!(rows(&elsewhere) > 0);
    assert_eq!(names(&place.standard()), WORKSPACES);
}

#[tokio::test]
async fn nowhere() {
    let place = Place::new();
    let runtime = place.builder().records(Records::Nowhere).build().unwrap();
    let done = run(&runtime, "mkdir .vscode").await;
    assert_eq!(done.outcome.violations.len(), 1);
    assert!(!place.standard().exists());
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let place = Place::new();
    let builder = place.builder().records(Records::Nowhere).preset("production");
    assert!(matches!(builder.build(), Err(BuildError::NoAudit)));
    let builder = place.builder().records(Records::In("here".into()));
    assert!(matches!(builder.build(), Err(BuildError::RecordPlace { .. })));
}

#[tokio::test]
async fn faults_are_told_once() {
    let place = Place::new();
    fs::create_dir_all(place.standard().parent().unwrap()).unwrap();
    fs::write(place.standard(), "in the way").unwrap();
    let runtime = place.builder().build().unwrap();
    let done = run(&runtime, "mkdir .vscode; mkdir .vscode; echo out").await;
    assert_eq!(done.stdout, b"out\n");
    let faults = runtime.record_faults();
    assert!(matches!(faults[..], [RecordFault::Audit(_), RecordFault::Store(_)]), "{faults:?}");
    assert!(runtime.record_faults().is_empty());
}

/// A run that is dropped in the middle leaves what is known of it.
#[tokio::test]
async fn a_dropped_run() {
    let place = Place::new();
    let runtime = place.builder().flags(Flags::default()).build().unwrap();
    let request = runtime.request(CommandLine::Shell("mkdir .vscode; sleep 60".into()));
    let mut running = runtime.start(runtime.prepare(request).unwrap(), Wiring::captured()).await.unwrap();
    let name = running.id().to_owned();
    while let Some(event) = running.next().await {
        match event {
            Event::Started { sandbox, .. } => assert_eq!(sandbox, name),
            Event::Violation(violation) => {
                assert_eq!(violation.sandbox, name);
                break;
            }
            _ => {}
        }
    }
    drop(running);
    assert_eq!(rows(&place.standard()), 1);
    let verified = AuditLog::new(&place.standard()).verify().unwrap();
    assert_eq!((verified.lines, verified.findings), (3, vec![]));
}
