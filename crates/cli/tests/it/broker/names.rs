//! F01, F02, F04, F11, F20: names that do not exist yet, made in every way.

use super::records::{Records, all_fine, all_refused, reported};
use crate::act;
use crate::support::{Snapshot, World, each_caller};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names nobody may make, with the rule that says so.
pub(super) const PROTECTED: [(&str, &str); 12] = [
    (".claude/settings.json", "protected .claude/settings.json"),
    (".claude/commands", "protected .claude/commands"),
    (".git/hooks/x", "protected .git/hooks"),
    (".git/commondir", "protected .git/commondir"),
    (".vscode", "protected .vscode"),
    (".codex", "protected .codex"),
    (".envrc", "denyRead **/.envrc"),
    (".mcp.json", "protected .mcp.json"),
    ("a/b/c/d/e/f/.env", "denyRead **/.env"),
    ("dist/.env", "denyRead **/.env"),
    ("node_modules/p/.env", "denyRead **/.env"),
    ("kept/absent", "denyWrite kept/absent"),
];

/// Every way to make a name out of nothing or out of a file.
pub(super) const WAYS: [&str; 18] = [
    "open",
    "open-old",
    "creat",
    "unnamed",
    "unnamed-by-link",
    "node",
    "node-old",
    "fifo",
    "directory",
    "directory-old",
    "symlink",
    "link",
    "link-old",
    "link-descriptor",
    "rename",
    "rename-at",
    "rename-old",
    "no-replace",
];

/// The directories around the names, and a file to make them of.
pub(super) fn prepare(world: &World) -> PathBuf {
    for (name, _) in PROTECTED {
        world.dir(Path::new(name).parent().unwrap());
    }
    world.file("source", "evil")
}

fn make(way: &str, path: &Path, source: &Path) -> Vec<OsString> {
    act!["make", way, path, source]
}

#[test]
fn f01_f02_f11_every_way() {
    each_caller(|world| {
        let source = prepare(world);
        let before = Snapshot::of(&world.ws, &[]);
        let run = || reported(world).opts(["--deny-write", "kept/absent"]);
        for (name, rule) in PROTECTED {
            let path = world.ws.join(name);
            let mut acts: Vec<_> = WAYS.iter().map(|way| make(way, &path, &source)).collect();
            acts.push(make("bind", &path, &source));
            all_refused(&run().batch(acts));
            let records = Records::of(world);
            records.tell("create", &path, rule).only_about(&[path.clone(), source.clone()]);
            let about = records.all().iter().filter(|record| Path::new(&record.subject) == path).count();
            assert_eq!(about, WAYS.len() + 1, "a record for each way: {:#?}", records.all());
        }
        Snapshot::of(&world.ws, &[]).same_as(&before, "after all ways to make a name");
    });
}

/// The same acts where nothing is protected.
#[test]
fn every_way_is_open_elsewhere() {
    each_caller(|world| {
        prepare(world);
        let mut acts = Vec::new();
        for (place, (name, _)) in PROTECTED.iter().enumerate() {
            // A repository that is there at the start is a mount of its own.
            if name.starts_with(".git/") {
                continue;
            }
            let dir = world.ws.join(name).parent().unwrap().to_path_buf();
            for way in WAYS.iter().chain(&["bind"]) {
                let source = world.file(format!("from/{place}-{way}"), "plain");
                acts.push(make(way, &dir.join(format!("plain-{place}-{way}")), &source));
            }
        }
        all_fine(&reported(world).opts(["--deny-write", "kept/absent"]).batch(acts));
        Records::of(world).only_about(&[]);
    });
}

/// Exchanging needs both: the protected name comes with the directory that is swapped in.
#[test]
fn f11_f12_exchange() {
    each_caller(|world| {
        world.dir("real");
        world.file("real/settings.json", "evil");
        world.dir("plain");
        world.dir("other");
        world.file("other/x", "x");
        let mut acts = vec![
            act!["mkdir", world.ws.join(".claude")],
            act!["exchange", world.ws.join("real"), world.ws.join(".claude")],
            act!["rmdir", world.ws.join(".claude")],
            act!["rename", world.ws.join("real"), world.ws.join(".claude")],
            act!["make", "no-replace", world.ws.join(".claude"), world.ws.join("real")],
            act!["symlink", "real", world.ws.join(".claude")],
            act!["symlink", "/tmp", world.ws.join(".claude")],
        ];
        acts.push(act!["exchange", world.ws.join("plain"), world.ws.join("other")]);
        let answers = reported(world).batch(acts);
        answers[0].ok();
        all_refused(&answers[1..2]);
        answers[2].ok();
        all_refused(&answers[3..7]);
        answers[7].ok();
        let subject = world.ws.join(".claude/settings.json");
        let records = Records::of(world);
        records.tell("create", subject, "protected .claude/settings.json");
        assert!(!world.ws.join(".claude").exists());
        assert!(world.ws.join("real/settings.json").exists());
        assert!(world.ws.join("plain/x").exists(), "the control did not exchange");
    });
}

/// A directory made ready elsewhere, an ancestor renamed, deep and shallow.
#[test]
fn f11_f12_directories_made_ready_elsewhere() {
    each_caller(|world| {
        world.file("one/.config/fish/config.fish", "evil");
        world.file("two/agents/a.md", "evil");
        world.file("three/copilot-instructions.md", "evil");
        world.file("four/deep/er/plain", "fine");
        let at = |name: &str| world.ws.join(name);
        let answers = reported(world).batch([
            act!["rename", at("one/.config"), at(".config")],
            act!["rename", at("two"), at(".claude")],
            act!["rename", at("two/agents"), at(".claude/agents")],
            act!["rename", at("three"), at(".github")],
            act!["rename", at("four"), at(".claude")],
        ]);
        all_refused(&answers[..2]);
        answers[2].errno(&["EACCES", "ENOENT"]);
        all_refused(&answers[3..4]);
        answers[4].ok();
        Records::of(world)
            .tell("create", at(".config/fish"), "protected .config/fish")
            .tell("create", at(".claude/agents"), "protected .claude/agents")
            .tell(
                "create",
                at(".github/copilot-instructions.md"),
                "protected .github/copilot-instructions.md",
            );
        // What was allowed to move is no way in either.
        let answers = reported(world).batch([
            act!["rename", at("two/agents"), at(".claude/agents")],
            act!["rename", at(".claude/deep"), at(".claude/hooks")],
            act!["create", at(".claude/plain")],
        ]);
        all_refused(&answers[..2]);
        answers[2].ok();
    });
}

/// Upper and lower case are different names.
#[test]
fn case_differs() {
    each_caller(|world| {
        let names = [".VSCODE", ".Codex", ".ENV", ".Envrc", ".vscode2", "vscode", ".env.example"];
        all_fine(&reported(world).batch(names.map(|name| act!["create", world.ws.join(name)])));
        Records::of(world).only_about(&[]);
    });
}

/// F04: never one of each.
#[test]
fn f04_an_absent_secret_is_neither_written_nor_read() {
    each_caller(|world| {
        let secret = world.ws.join(".env");
        let answers =
            reported(world).batch([act!["create", &secret], act!["put", &secret], act!["read", &secret]]);
        all_refused(&answers[..2]);
        answers[2].errno(&["ENOENT", "EACCES"]);
        Records::of(world).tell("create", &secret, "denyRead **/.env");
        assert!(!secret.exists());
        let answers = reported(world)
            .with("--allow-read", &secret)
            .batch([act!["create", &secret], act!["read", &secret]]);
        all_fine(&answers);
        Records::of(world).only_about(&[]);
        assert!(secret.exists());
    });
}

/// Nothing stands on the host in place of what is protected, at no time.
#[test]
fn no_placeholder_before_during_and_after() {
    each_caller(|world| {
        prepare(world);
        let before = Snapshot::of(&world.ws, &[]);
        let live = world.run().start(["hold", "2"]);
        live.first_output(Duration::from_secs(20));
        Snapshot::of(&world.ws, &[]).same_as(&before, "while the command runs");
        drop(live);
        Snapshot::of(&world.ws, &[]).same_as(&before, "after the end");
    });
}

/// I21: ten thousand different refused acts.
#[test]
fn i21_ten_thousand_refusals() {
    each_caller(|world| {
        world.dir(".vscode");
        let answer = reported(world).probe(act!["refusals", "10000", world.ws.join(".vscode")]);
        assert_eq!(answer.value("refused"), "10000");
        let report = std::fs::metadata(super::records::report_of(world)).unwrap().len();
        assert!(report < 4 << 20, "the report has {report} bytes");
        assert!(answer.ran().stderr.len() < 64 << 10, "{} bytes of messages", answer.ran().stderr.len());
        assert!(!Records::of(world).all().is_empty());
        assert!(Records::of(world).outcome()["exitCode"] == 0);
    });
}
