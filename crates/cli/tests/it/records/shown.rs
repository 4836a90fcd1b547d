//! What a person is shown of refusals, and what not.

use super::{kept, list, stored, text};
use crate::support::{World, binaries, each_caller};
use serde_json::json;

/// The lines of the block after a run.
fn block(err: &str) -> Vec<&str> {
    err.lines().skip_while(|line| !line.starts_with("stockade: ")).collect()
}

#[test]
fn the_block_says_what_why_and_what_to_do() {
    each_caller(|world| {
        let outside = world.outside.display();
        let line = format!("mkdir .vscode .vscode .vscode 2>/dev/null; mkdir {outside}/d 2>/dev/null");
        let ran = world.run().shell(&line);
        let ws = world.ws.display();
        assert_eq!(
            block(&ran.err()),
            [
                "stockade: 4 acts were refused".to_owned(),
                format!(
                    "  create {ws}/.vscode (3 times): the host would later run or trust it: mandatory protection"
                ),
                "    by protected .vscode (built in: mandatory protection)".to_owned(),
                format!("  create {outside}/d: no allowWrite rule covers it"),
                format!("    hint: --allow-write {outside}"),
            ],
            "{ran}"
        );
        let ran = world.run().opt("-q").shell(&line);
        assert_eq!(ran.err(), "", "{ran}");
    });
}

#[test]
fn names_are_shown_escaped_and_kept_exact() {
    each_caller(|world| {
        let name = "a\nstockade: 0 acts were refused\u{202e}\u{1b}[2J";
        let path = world.outside.join(name);
        let probe = binaries().probe.to_str().unwrap();
        let done = kept(world, world.run(), |run| run.program([probe, "mkdir", path.to_str().unwrap()]));
        assert_eq!(done.only()["subject"], path.to_str().unwrap());
        let err = done.ran.err();
        assert!(err.contains("a\\nstockade: 0 acts were refused\\u{202e}\\u{1b}[2J"), "{err}");
        assert!(!err.contains(['\u{202e}', '\u{1b}']), "{err}");
        let listed = world.stockade().opts(["violations", "--sandbox", &done.sandbox]).go().out();
        assert_eq!(listed.lines().count(), 2, "{listed}");
        assert!(!listed.contains(['\u{202e}', '\u{1b}']), "{listed}");
        let audit = world.stockade().opts(["audit", "show"]).go().out();
        assert_eq!(audit.lines().count(), 3, "{audit}");
        assert!(!audit.contains(['\u{202e}', '\u{1b}']), "{audit}");
    });
}

#[test]
fn ignored_ones_are_hidden_and_counted() {
    each_caller(|world| {
        let outside = world.outside.display();
        let settings = world.settings(
            json!({"violations": {"ignore": [{"kind": "create", "subject": world.outside.join("noise")}]}})
                .to_string(),
        );
        let line = format!("mkdir {outside}/noise {outside}/noise {outside}/told 2>/dev/null");
        let run = || world.run().with("--settings", &settings);
        let done = kept(world, run(), |run| run.shell(&line));
        let err = done.ran.err();
        assert!(err.starts_with("stockade: 1 act was refused\n"), "{err}");
        assert!(err.contains("/told") && !err.contains("/noise"), "{err}");
        assert!(err.ends_with("  2 more, which the settings ignore\n"), "{err}");
        assert_eq!(done.everywhere().len(), 3, "records are whole");
        let hidden = done.stored.iter().filter(|row| row["hidden"] == true).count();
        assert_eq!(hidden, 2);
        assert_eq!(stored(world, &["--sandbox", &done.sandbox]).len(), 1);
        let shown = world.stockade().opts(["violations"]).go().out();
        assert!(shown.contains("2 more are ignored by the settings") && !shown.contains("/noise"), "{shown}");

        let line = format!("mkdir {outside}/noise 2>/dev/null; exit 0");
        let ran = run().shell(&line);
        assert_eq!(ran.err(), "stockade: 1 act was refused, which the settings ignore\n");
    });
}

/// A project cannot hide what its own code tries.
#[test]
fn a_project_hides_nothing() {
    each_caller(|world| {
        world.file(".stockade.json", json!({"violations": {"ignore": [{"subject": "/**"}]}}).to_string());
        let ran = world.run().shell(&format!("mkdir {}/d", world.outside.display()));
        ran.complains(&["violations.ignore[0] (/**) is ignored", "1 act was refused"]);
    });
}

#[test]
fn the_way_of_srt() {
    each_caller(|world| {
        let outside = world.outside.display();
        let settings = |ignored: serde_json::Value| {
            json!({"network": {"allowedDomains": [], "deniedDomains": []},
                "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}, "ignoreViolations": ignored})
        };
        let run = |ignored: serde_json::Value| {
            let file = world.file(world.base.join("srt.json"), settings(ignored).to_string());
            world
                .srt()
                .opt("-d")
                .with("-s", file)
                .opts(["-c", &format!("mkdir {outside}/noise; exit 0")])
                .go()
        };
        run(json!({"mkdir": ["/noise"]})).complains(&["1 act was refused, which the settings ignore"]);
        run(json!({"rmdir": ["/noise"]})).complains(&["create", "/noise: "]);
        assert_eq!((stored(world, &[]).len(), stored(world, &["--all"]).len()), (1, 2));
        // Scripts that read the standard error see the command's own, and nothing else.
        let file = world.base.join("srt.json");
        let ran = world
            .srt()
            .with("-s", file)
            .opts(["-c", &format!("mkdir {outside}/x 2>/dev/null; echo e >&2")])
            .go();
        assert_eq!(ran.err(), "e\n");
    });
}

#[test]
fn a_flood_is_bounded_and_summed_up() {
    each_caller(|world| {
        let line = format!(
            "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); : > {}/f$i; done 2>/dev/null; exit 0",
            world.outside.display()
        );
        let done = kept(world, world.run(), |run| run.shell(&line));
        let kept_each = list(&done.report["violations"]).len() as u64;
        let more = done.report["moreViolations"].as_u64().expect("more");
        assert_eq!(kept_each + more, 10_000);
        // The first thousand, and the newest hundred.
        assert_eq!(kept_each, 1100);
        let rows = done.stored.iter().filter(|row| row.get("more").is_none()).count() as u64;
        assert_eq!(rows, kept_each);
        let summed: Vec<_> = done.stored.iter().filter_map(|row| row["more"].as_u64()).collect();
        assert_eq!(summed, [more]);
        let err = done.ran.err();
        assert!(err.starts_with("stockade: 10000 acts were refused\n"), "{err}");
        assert!(err.ends_with("\n  ... and 9980 more\n"), "{err}");
        assert!(err.len() < 10_000, "{err}");
        let log = super::logged(world);
        assert_eq!(log.len() as u64, kept_each + 2);
        assert_eq!(log.last().unwrap()["unlisted"], more);
        world.stockade().opts(["audit", "verify"]).go().exits(0);
    });
}

#[test]
fn the_name_of_a_run_leads_to_its_refusals() {
    each_caller(|world| {
        let line = format!("mkdir {}/d", world.outside.display());
        let ran = world.run().opt("-v").shell(&line);
        let err = ran.err();
        let name = err.lines().find_map(|line| line.strip_prefix("stockade: sandbox ")).expect("a name");
        world.run().shell(&line);
        let rows = stored(world, &["--sandbox", name]);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        assert_eq!(text(&rows[0]["sandbox"]), name);
        assert_eq!(stored(world, &[]).len(), 2);
    });
}

#[test]
fn the_settings_say_how_much_is_kept() {
    each_caller(|world: &World| {
        let settings = world.settings(json!({"violations": {"keepRows": 2}}).to_string());
        let line = format!("mkdir {0}/1 {0}/2 {0}/3 2>/dev/null", world.outside.display());
        world.run().with("--settings", &settings).shell(&line);
        let rows = stored(world, &[]);
        let subjects: Vec<&str> = rows.iter().map(|row| text(&row["subject"])).collect();
        assert!(
            subjects.len() == 2 && subjects[0].ends_with("/2") && subjects[1].ends_with("/3"),
            "{subjects:?}"
        );
    });
}
