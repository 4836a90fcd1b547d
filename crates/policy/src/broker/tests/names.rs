use super::{assert_free, judge_with, list, refused};
use crate::testing::{load, request, usual_tree};
use crate::{Flags, Judge, Judgement, Layer, Naming, Shape, Switch};

#[test]
fn nothing_is_made_among_devices() {
    let judge = judge_with(Flags::default(), &usual_tree());
    for naming in [Naming::File, Naming::Directory, Naming::Symlink, Naming::Moved] {
        for path in ["/dev/x", "/dev/null", "/dev/net/tun", "/dev/shmx"] {
            assert!(refused(&judge, path, naming).reason.contains("holds devices only"), "{path}");
        }
        assert_free(&judge, "/dev/shm/x", naming);
        assert_free(&judge, "/dev/shm/deep/er", naming);
    }
    // What is there is written to.
    assert!(matches!(judge.change("/dev/null".as_ref()), Judgement::Free));
}

#[test]
fn names_that_are_not_there_yet() {
    let flags = Flags {
        deny_write: list(&["./keep", "./gen/*/out", "**/*.lock", "~/notes"]),
        deny_read: list(&["/ws/secret"]),
        ..Flags::default()
    };
    let judge = judge_with(flags, &usual_tree());
    for (path, rule) in [
        ("/ws/.env", "denyRead **/.env"),
        ("/ws/a/b/.env", "denyRead **/.env"),
        ("/ws/.env/x", "denyRead **/.env"),
        ("/ws/keep", "denyWrite ./keep"),
        ("/ws/keep/deep/er", "denyWrite ./keep"),
        ("/ws/gen/a/out/x", "denyWrite ./gen/*/out"),
        ("/ws/a/b.lock", "denyWrite **/*.lock"),
        ("/ws/secret/x", "denyRead /ws/secret"),
        ("/ws/.vscode/tasks.json", "protected .vscode"),
        ("/ws/.claude/settings.json", "protected .claude/settings.json"),
        ("/home/me/notes/x", "denyWrite ~/notes"),
        ("/home/me/.config/stockade/settings.json", "own directory /home/me/.config/stockade"),
    ] {
        assert_eq!(refused(&judge, path, Naming::File).rule.unwrap().text, rule, "{path}");
    }
    for path in [
        "/ws/src/main.rs",
        "/ws/.envx",
        "/ws/keeper",
        "/ws/gen/out",
        "/ws/gen/a/b/out",
        "/ws/lib/.vscode/tasks.json",
        "/ws/.claude/notes.md",
        "/tmp/.env",
        "/tmp/x/.vscode",
        "/srv/.env",
        "/",
    ] {
        assert_free(&judge, path, Naming::File);
    }
}

#[test]
fn rules_hold_below_listed_roots_wherever_they_are() {
    let tree = usual_tree().files(&["/tmp/out/x", "/data/x"]);
    let flags = Flags { allow_write: list(&["/tmp/out"]), allow_read: list(&["/data"]), ..Flags::default() };
    let judge = judge_with(flags, &tree);
    for path in ["/tmp/out/.env", "/tmp/out/.bashrc", "/data/x/.env"] {
        refused(&judge, path, Naming::File);
    }
    for path in ["/tmp/.env", "/tmp/out/x/.bashrc", "/data/.bashrc"] {
        assert_free(&judge, path, Naming::File);
    }
}

#[test]
fn specific_rules_open_and_the_default_list_is_opened_by_people_only() {
    let tree = usual_tree().files(&["/ws/closed/open/x", "/ws/closed/y"]);
    let text = |layer| {
        let text = r#"{"filesystem": {"denyRead": ["./closed"], "allowRead": ["./closed/open", "./.env", "./sub/.env"],
            "denyWrite": ["./closed/open/kept"]}}"#;
        let policy = load(&tree, layer, Shape::Native, text).unwrap();
        Judge::new(&policy.plan(&request(), &tree).unwrap())
    };
    let user = text(Layer::User);
    assert_free(&user, "/ws/closed/open/new", Naming::File);
    assert_free(&user, "/ws/.env", Naming::File);
    assert_free(&user, "/ws/sub/.env", Naming::File);
    refused(&user, "/ws/.env", Naming::Directory);
    refused(&user, "/ws/closed/new", Naming::File);
    refused(&user, "/ws/closed/open/kept", Naming::File);
    refused(&user, "/ws/other/.env", Naming::File);
    let project = text(Layer::Project);
    refused(&project, "/ws/.env", Naming::File);
    refused(&project, "/ws/closed/open/new", Naming::File);
}

#[test]
fn links_may_not_stand_where_a_protected_name_leads_through() {
    let flags = Flags { deny_write: list(&["./a/b/c", "**/deep/x", "./w/**/z"]), ..Flags::default() };
    let judge = judge_with(flags, &usual_tree());
    for path in [
        "/ws/.claude",
        "/ws/.config",
        "/ws/.github",
        "/ws/a",
        "/ws/a/b",
        "/ws/deep",
        "/ws/s/deep",
        "/ws/w",
        "/ws/.vscode",
    ] {
        refused(&judge, path, Naming::Symlink);
    }
    for path in ["/ws/.claude", "/ws/a/b", "/ws/deep", "/ws/w"] {
        assert_free(&judge, path, Naming::Directory);
        assert_free(&judge, path, Naming::MovedDirectory);
    }
    for path in ["/ws/lib", "/ws/lib/.claude", "/ws/b", "/ws/w/x", "/tmp/.claude"] {
        assert_free(&judge, path, Naming::Symlink);
    }
}

#[test]
fn which_directories_are_searched_when_they_are_moved() {
    let tree = usual_tree().files(&["/out/x", "/ws/repo/.git/config"]);
    let flags = Flags {
        allow_write: list(&["/out"]),
        deny_write: list(&["./a/b/c", "**/deep/x"]),
        ..Flags::default()
    };
    let judge = judge_with(flags, &tree);
    for (from, to, searched) in [
        ("/ws/x", "/ws/y", false),
        ("/ws/x", "/out/y", false),
        ("/ws/x", "/ws/.claude", true),
        ("/ws/x", "/ws/a", true),
        ("/ws/x", "/ws/a/b", true),
        ("/ws/x", "/ws/s/deep", true),
        ("/ws/x", "/ws/repo", true),
        ("/ws/x", "/ws/repo/y", false),
        ("/tmp/x", "/ws/y", true),
        ("/ws/x", "/ws/repo/.git/modules/y", true),
        ("/ws/repo/.git/x", "/ws/y", true),
        ("/ws/x", "/tmp/y", false),
    ] {
        assert_eq!(judge.must_search(from.as_ref(), to.as_ref()), searched, "{from} to {to}");
    }
}

#[test]
fn changes_and_reads() {
    let tree = usual_tree().files(&["/ws/.env", "/home/me/.ssh/id", "/home/me/.ssh/known_hosts"]);
    let flags = Flags { deny_write: list(&["./keep"]), deny_read: list(&["./hide"]), ..Flags::default() };
    let judge = judge_with(flags, &tree);
    let change = |path: &str| judge.change(path.as_ref());
    let read = |path: &str| judge.read(path.as_ref());
    for path in ["/ws/.env", "/ws/keep", "/ws/keep/x", "/ws/hide", "/ws/.vscode/x"] {
        assert!(matches!(change(path), Judgement::Refused(_)), "{path}");
    }
    // That nothing allows it is the walls' business.
    for path in ["/ws/x", "/etc/passwd", "/tmp/.env", "/ws/.git"] {
        assert!(!matches!(change(path), Judgement::Refused(_)), "{path}");
    }
    for path in ["/ws/.env", "/ws/hide/x", "/home/me/.ssh/id", "/home/me/.aws/new", "/etc/shadow"] {
        assert!(matches!(read(path), Judgement::Refused(_)), "{path}");
    }
    for path in ["/ws/keep", "/ws/.vscode/x", "/home/me/.ssh/known_hosts", "/etc/hosts", "/tmp/.env"] {
        assert_eq!(read(path), Judgement::Free, "{path}");
    }
}

#[test]
fn refusals_say_what_would_help_and_who_may_give_it() {
    let tree = usual_tree();
    let judge = |layer| {
        let text = r#"{"filesystem": {"denyRead": ["./hide"], "denyWrite": ["./keep"]}}"#;
        let policy = load(&tree, layer, Shape::Native, text).unwrap();
        Judge::new(&policy.plan(&request(), &tree).unwrap())
    };
    let user = judge(Layer::User);
    for (path, suggestion, grantable) in [
        ("/ws/hide", Some("--allow-read /ws/hide"), Switch::Allowed),
        ("/ws/keep", None, Switch::Allowed),
        ("/ws/.env", Some("--allow-read /ws/.env"), Switch::Allowed),
        ("/ws/.vscode", None, Switch::Refused),
        ("/home/me/.config/stockade", None, Switch::Refused),
    ] {
        let refusal = refused(&user, path, Naming::File);
        assert_eq!((refusal.suggestion.as_deref(), refusal.grantable), (suggestion, grantable), "{path}");
    }
    let managed = judge(Layer::Managed);
    for path in ["/ws/hide", "/ws/keep"] {
        assert_eq!(refused(&managed, path, Naming::File).grantable, Switch::Refused, "{path}");
    }
    // The suggestion works.
    let opened = judge_with(Flags { allow_read: list(&["/ws/.env"]), ..Flags::default() }, &tree);
    assert_free(&opened, "/ws/.env", Naming::File);
}

#[test]
fn srts_names_hold_at_any_depth() {
    let tree = usual_tree();
    let text = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": ["**/x.key"]}}"#;
    let policy = load(&tree, Layer::User, Shape::Srt, text).unwrap();
    let judge = Judge::new(&policy.plan(&request(), &tree).unwrap());
    for path in
        ["/ws/.bashrc", "/ws/a/b/.bashrc", "/ws/node_modules/p/.gitconfig", "/ws/a/.vscode/x", "/ws/x.key"]
    {
        refused(&judge, path, Naming::File);
    }
    refused(&judge, "/ws/a/.claude", Naming::Symlink);
    for path in ["/ws/node_modules/p/.vscode/x", "/ws/.zshenv", "/ws/.env", "/out/.bashrc"] {
        assert_free(&judge, path, Naming::File);
    }
    assert!(judge.must_search("/ws/node_modules/p".as_ref(), "/ws/p".as_ref()));
    assert!(!judge.must_search("/ws/o".as_ref(), "/ws/p".as_ref()));
}
