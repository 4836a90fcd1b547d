use super::super::{GitPlaces, check_git_config, git_config_with_relative_worktree, git_config_worktree};
use super::{one, places};
use std::path::PathBuf;

fn passes(text: &str) -> bool {
    check_git_config(text.as_bytes(), &places()).is_ok()
}

#[test]
fn only_what_is_not_called_git_is_bare() {
    let bare = one("core.bare", "true");
    let at = |path: &str| GitPlaces { git_directory: path.into(), ..places() };
    assert!(check_git_config(bare.as_bytes(), &at("/cache/cargo/git/db/x")).is_ok());
    for path in ["/ws/.git", "/ws/.git/modules/x", "/ws/.Git"] {
        assert!(check_git_config(bare.as_bytes(), &at(path)).is_err(), "{path}");
    }
}

#[test]
fn inert_keys_pass() {
    for (name, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("core.bare", "false"),
        ("core.fsmonitor", "false"),
        ("core.logAllRefUpdates", "always"),
        ("core.worktree", "../../../sub"),
        ("core.worktree", "../../../deep/er/sub"),
        ("core.worktree", "/ws/repo/sub"),
        ("core.protectNTFS", "true"),
        ("user.name", "Zoë \"Z\" O'Neil; #1"),
        ("branch.main.remote", "."),
        ("branch.main.remote", "origin"),
        ("branch.feature/a.b.merge", "refs/heads/feature/a.b"),
        ("branch.main.rebase", "merges"),
        ("branch.main.description", "two\nlines"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("remote.origin.fetch", "^refs/heads/secret"),
        ("remote.origin.push", ":"),
        ("remote.origin.tagOpt", "--no-tags"),
        ("remote.origin.gh-resolved", "owner/repo"),
        ("submodule.lib/a.update", "none"),
        ("submodule.lib.active", "true"),
        ("submodule.active", ":(glob)lib/**"),
        ("extensions.objectFormat", "sha256"),
        ("color.ui", "auto"),
        ("color.diff.new", "bold #00ff00 ul"),
        ("advice.detachedHead", "false"),
        ("log.date", "format:%Y-%m-%d %H:%M"),
        ("gc.auto", "0"),
        ("http.postBuffer", "500m"),
        ("merge.log", "20"),
        ("tag.sort", "-version:refname"),
        ("commit.gpgSign", "false"),
        ("lfs.https://example.org/a.git/info/lfs.access", "basic"),
    ] {
        let text = one(name, value);
        let result = check_git_config(text.as_bytes(), &places());
        assert!(result.is_ok(), "{name}={value}: {}", result.unwrap_err());
    }
}

#[test]
fn keys_that_run_or_follow_something_do_not() {
    for name in [
        "alias.x",
        "core.hooksPath",
        "core.sshCommand",
        "core.gitProxy",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.attributesFile",
        "core.excludesFile",
        "core.alternateRefsCommand",
        "core.sharedRepository",
        "core.commentChar",
        "core.preferSymlinkRefs",
        "diff.external",
        "diff.d.command",
        "diff.d.textconv",
        "diff.tool",
        "diff.orderFile",
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "filter.f.required",
        "merge.d.driver",
        "merge.tool",
        "mergetool.t.cmd",
        "mergetool.t.path",
        "difftool.t.cmd",
        "credential.helper",
        "credential.https://x.helper",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
        "gpg.format",
        "http.proxy",
        "http.sslVerify",
        "http.cookieFile",
        "http.https://x.proxy",
        "http.sslCAInfo",
        "http.extraHeader",
        "url.x.insteadOf",
        "url.x.pushInsteadOf",
        "include.path",
        "includeIf.gitdir:/.path",
        "protocol.allow",
        "protocol.ext.allow",
        "sequence.editor",
        "trailer.t.command",
        "trailer.t.cmd",
        "uploadpack.packObjectsHook",
        "receive.denyCurrentBranch",
        "receive.procReceiveRefs",
        "web.browser",
        "browser.b.cmd",
        "man.m.cmd",
        "sendemail.smtpServer",
        "sendemail.toCmd",
        "instaweb.httpd",
        "safe.directory",
        "safe.bareRepository",
        "maintenance.repo",
        "interactive.diffFilter",
        "tar.x.command",
        "guitool.g.cmd",
        "pager.log",
        "ssh.variant",
        "remote.o.uploadpack",
        "remote.o.receivepack",
        "remote.o.vcs",
        "remote.o.proxy",
        "remote.o.promisor",
        "remote.o.partialCloneFilter",
        "extensions.partialClone",
        "promisor.acceptFromServer",
        "remotes.group",
        "branch.b.mergeOptions",
        "pull.twohead",
        "pull.octopus",
        "rebase.instructionFormat",
        "commit.template",
        "init.templateDir",
        "gc.recentObjectsHook",
        "gc.repackFilterTo",
        "fetch.bundleURI",
        "user.signingKey",
        "log.showSignature",
        "blame.ignoreRevsFile",
        "mailmap.file",
        "trace2.eventTarget",
        "lfs.customtransfer.x.path",
        "lfs.url",
        "submodule.s.gitdir",
        "format.pretty",
        "notes.rewriteRef",
        "attr.tree",
        "unknown.key",
        "core.x.bare",
        "extensions.unknown",
        "advice.x.y",
        "imap.tunnel",
        "gitcvs.dbName",
        "fsmonitor.socketDir",
        "help.autoCorrect",
    ] {
        for value in ["true", "false", "1", "x", ""] {
            assert!(!passes(&one(name, value)), "{name}={value}");
        }
    }
}

#[test]
fn values_have_to_be_harmless_too() {
    for (name, value) in [
        ("core.fsmonitor", "true"),
        ("core.fsmonitor", ".git/evil"),
        ("core.fsmonitor", "False"),
        ("core.fsmonitor", ""),
        ("core.bare", "true"),
        ("core.protectHFS", "false"),
        ("core.fileMode", "99999999999999999999"),
        ("core.autocrlf", "sh"),
        ("core.compression", "9x"),
        ("core.compression", "1234567890123456789"),
        ("branch.main.merge", "--upload-pack=x"),
        ("branch.main.merge", "a b"),
        ("branch.main.merge", ""),
        ("branch.main.remote", "ext::sh -c evil"),
        ("branch.main.pushRemote", "--exec=evil"),
        ("remote.pushDefault", "ext::x"),
        ("extensions.refStorage", "files:///elsewhere"),
        ("branch.main.rebase", "evil"),
        ("remote.origin.fetch", "--upload-pack=x"),
        ("remote.origin.tagOpt", "--upload-pack=x"),
        ("remote.origin.mirror", "x"),
        ("submodule.s.update", "!evil"),
        ("submodule.s.update", "command"),
        ("submodule.s.url", "ext::sh"),
        ("submodule.s.url", "-u./evil"),
        ("fetch.fsckObjects", "false"),
        ("push.recurseSubmodules", "on-demand"),
        ("tag.sort", "signature"),
        ("commit.gpgSign", "true"),
        ("color.ui", "$(x)"),
        ("user.name", "a\u{8}b"),
    ] {
        let text = one(name, value).replace('\u{8}', "\\b");
        assert!(!passes(&text), "{name}={value}");
    }
}

#[test]
fn a_key_without_a_value_is_a_boolean_or_nothing() {
    assert!(passes("[core]\nfilemode\n[core]logallrefupdates"));
    for text in ["[core]fsmonitor", "[core]bare", "[user]name", "[remote \"o\"]url", "[core]worktree"] {
        assert!(!passes(text), "{text}");
    }
}

#[test]
fn subsections_are_arguments_and_directories() {
    for text in [
        "[remote \"--upload-pack=x\"]\nprune = true",
        "[remote \"ext::sh -c evil\"]\nprune = true",
        "[remote \"foo://x\"]\nprune = true",
        "[remote \"\"]\nprune = true",
        "[remote \" \"]\nprune = true",
        "[branch \"-x\"]\nrebase = true",
        "[branch \"\"]\nrebase = true",
        "[submodule \"../../hooks\"]\nactive = true",
        "[submodule \"a\\\\..\\\\b\"]\nactive = true",
        "[submodule \"/abs\"]\nactive = true",
        "[submodule \"a/..\"]\nactive = true",
    ] {
        assert!(!passes(text), "{text}");
    }
    assert!(passes("[remote \"a/b.c\"]\nprune = true\n[submodule \"lib..x/y\"]\nactive = true"));
}

#[test]
fn working_trees_are_for_submodules_and_inside_their_repository() {
    for value in [
        "../../..",
        "../../../..",
        "../../../../other",
        "/ws",
        "/ws/repo",
        "/ws/other",
        "/etc",
        "sub",
        "..",
        "../../x",
        "../../../.git/hooks",
        "../../../sub/.GIT/x",
        "../../../sub/../../../../etc",
        "../../../a/../b",
        "../../../a//b",
        "../../../sub/",
        "../../.././sub",
        "",
        "../../../../../../../../x",
        "../../../sub ",
        "~/x",
        "/ws/repo/../../etc",
        "/ws/repository/sub",
    ] {
        assert!(!passes(&one("core.worktree", value)), "{value}");
    }
    let text = one("core.worktree", "../../../sub");
    let elsewhere = |git_directory: &str, writable: &str| GitPlaces {
        writable: vec![PathBuf::from(writable)],
        private: vec![],
        git_directory: PathBuf::from(git_directory),
    };
    let check = |git_directory, writable| {
        check_git_config(text.as_bytes(), &elsewhere(git_directory, writable)).is_ok()
    };
    assert!(check("/ws/repo/.git/modules/sub", "/ws/repo"));
    for (git_directory, writable) in [
        ("/ws/repo/.git/modules/sub", "/other"),
        ("/ws/repo/.git/modules/sub", "/ws/rep"),
        ("/ws/repo/.git", "/ws"),
        ("/ws/repo/a/b/.git", "/ws"),
        ("/ws/repo/.git/worktrees/sub", "/ws"),
        ("/ws/repo/.git/modules", "/ws"),
        ("/ws/repo/x/modules/sub", "/ws"),
        ("/ws/repo/.git/modules/../sub", "/ws"),
        ("/ws/.git/modules/.git/modules/sub", "/ws"),
        ("ws/repo/.git/modules/sub", "/ws"),
    ] {
        assert!(!check(git_directory, writable), "{git_directory} {writable}");
    }
}

#[test]
fn working_trees_are_named_as_from_their_git_directories() {
    let directory = places().git_directory;
    let settle = |text: &str| {
        let settled = git_config_with_relative_worktree(text.as_bytes(), &directory);
        settled.map(|text| String::from_utf8(text.into_owned()).unwrap())
    };
    let absolute = "[core]\n\tbare = false\n\tworktree = /ws/repo/deep/sub\n[user]\n\tname = /ws/repo\n";
    let relative = absolute.replace("worktree = /ws/repo/", "worktree = ../../../");
    assert_eq!(settle(absolute), Ok(relative.clone()));
    assert_eq!(git_config_worktree(relative.as_bytes(), &directory), Some("/ws/repo/deep/sub".into()));
    assert_eq!(settle(&relative), Ok(relative));
    assert_eq!(settle("[core]\nworktree = /ws/repo/a\n\tworktree = ../../../b"), {
        Ok("[core]\n\tworktree = ../../../a\n\tworktree = ../../../b".into())
    });
    for odd in [
        "[core] worktree = /ws/repo/sub\n",
        "[core]\nworktree = \"/ws/repo/sub\"\n",
        "[core]\nworktree = /ws/repo/sub # x\n",
        "[core]\nworktree = /ws/re\\\npo/sub\n",
        "[core]\nworktree = /elsewhere/sub\n",
    ] {
        let refusal = settle(odd).unwrap_err();
        assert_eq!(
            (refusal.key.as_str(), refusal.line),
            ("core.worktree", if odd.contains("[core] ") { 1 } else { 2 })
        );
    }
    let elsewhere = git_config_with_relative_worktree(b"[core]\nworktree = /x\n", "/ws/repo/.git".as_ref());
    assert_eq!(elsewhere.unwrap().as_ref(), b"[core]\nworktree = /x\n");
}

#[test]
fn the_last_working_tree_is_the_one() {
    let text = b"[core]worktree = ../../../a\n[Core]\nWORKTREE = ../../../b ; c\n";
    let directory = places().git_directory;
    assert_eq!(git_config_worktree(text, &directory), Some(PathBuf::from("/ws/repo/b")));
    assert_eq!(git_config_worktree(b"[core]bare = false", &directory), None);
}
