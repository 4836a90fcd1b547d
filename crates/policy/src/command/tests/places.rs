//! Where programs lie and redirections lead.

use super::{policy, shell, tree};
use crate::testing::{Tree, inputs, settings_file};
use crate::{Decision, Opening, Opens, Request, Verdict};

const EXCLUDED: &str = r#"{"excludedCommands": ["docker:*", "/opt/bin/tool", "./run", "cat:*"],
    "filesystem": {"allowWrite": ["/srv/data"]}}"#;

fn decide(tree: &Tree, path: Option<&str>, text: &str) -> Decision {
    let environment = path.map(|path| ("PATH".into(), path.into())).into_iter().collect();
    let tree = tree.clone().directory("/srv/data");
    let policy = crate::testing::load(&tree, crate::Layer::User, crate::Shape::Native, EXCLUDED).unwrap();
    policy.decide(&Request { environment, ..shell(text) }, &tree)
}

#[test]
fn a_program_that_commands_could_have_written_is_not_excluded() {
    let planted = tree().file("/ws/bin/docker").file("/srv/data/docker");
    let linked = tree().link("/usr/local/bin/docker", "/ws/tool").link("/opt/dir", "/ws/bin");
    let swapped = tree().link("/ws/link", "/usr/bin/docker").link("/usr/local/bin/docker", "/ws/link");
    let circle =
        tree().link("/usr/local/bin/docker", "/usr/local/bin/other").link("/usr/local/bin/other", "docker");
    for (files, path, text, expected) in [
        (&tree(), Some("/usr/bin"), "docker ps", Verdict::Unsandboxed),
        // Some shells then go on in the working directory.
        (&tree(), None, "docker ps", Verdict::Sandbox),
        (&tree().file("/opt/bin/tool"), None, "/opt/bin/tool", Verdict::Unsandboxed),
        // Nowhere: nothing will run.
        (&tree(), Some("/usr/local/bin"), "docker ps", Verdict::Unsandboxed),
        (&planted, Some("/ws/bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        (&planted, Some("/srv/data"), "docker ps", Verdict::Sandbox),
        (&planted, Some("/usr/bin:/ws/bin"), "docker ps", Verdict::Unsandboxed),
        // Not there yet, but it could be when the command starts.
        (&tree(), Some("/ws/bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some("/usr/local/bin:/ws/bin"), "docker ps", Verdict::Sandbox),
        // The directory depends on where the command runs.
        (&tree(), Some("bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some(":/usr/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some("/usr/local/bin::/usr/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some("/usr/local/bin:."), "docker ps", Verdict::Sandbox),
        // Links that lead there, or through there.
        (&linked, Some("/usr/local/bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        (&linked, Some("/opt/dir:/usr/bin"), "docker ps", Verdict::Sandbox),
        (&swapped, Some("/usr/local/bin"), "docker ps", Verdict::Sandbox),
        (&circle, Some("/usr/local/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some("/usr/bin:/usr/../ws/bin"), "docker ps", Verdict::Unsandboxed),
        (&tree(), Some("/usr/../ws/bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        // Wrappers are programs too.
        (&tree().file("/ws/bin/timeout"), Some("/usr/bin:/ws/bin"), "nohup docker ps", Verdict::Unsandboxed),
        (&tree(), Some("/usr/bin:/ws/bin"), "setsid docker ps", Verdict::Sandbox),
        // By their paths.
        (&tree().file("/opt/bin/tool"), Some("/usr/bin"), "/opt/bin/tool", Verdict::Unsandboxed),
        (&tree().link("/opt/bin/tool", "/ws/tool"), Some("/usr/bin"), "/opt/bin/tool", Verdict::Sandbox),
        (&tree().file("/ws/run"), Some("/usr/bin"), "./run", Verdict::Sandbox),
        (&tree().link("/ws/run", "/usr/bin/docker"), Some("/usr/bin"), "./run", Verdict::Sandbox),
    ] {
        let decision = decide(files, path, text);
        assert_eq!(decision.verdict, expected, "{path:?} {text}: {}", decision.reason);
    }
}

#[test]
fn redirections_stay_where_commands_may_work() {
    let files = tree()
        .link("/ws/away", "/etc/passwd")
        .link("/ws/out", "/etc")
        .file("/ws/in")
        .file("/srv/data/in")
        .directory("/ws/sub");
    for (text, expected) in [
        ("cat < in", Verdict::Unsandboxed),
        ("cat < /srv/data/in > /srv/data/out", Verdict::Unsandboxed),
        ("cat > new", Verdict::Unsandboxed),
        ("cat > ./a/../new", Verdict::Sandbox),
        ("cat > away", Verdict::Sandbox),
        ("cat < away", Verdict::Sandbox),
        ("cat > out/x", Verdict::Sandbox),
        ("cat > /ws/../etc/x", Verdict::Sandbox),
        ("cat > .git/hooks/x", Verdict::Sandbox),
        ("cat > .bashrc", Verdict::Sandbox),
        ("cat > sub/HEAD", Verdict::Sandbox),
        ("cat > sub/config", Verdict::Sandbox),
        ("cat > gitdir", Verdict::Sandbox),
        ("cat > sub/HEADER", Verdict::Unsandboxed),
        ("cat > /dev/tcp/example.org/80", Verdict::Sandbox),
        ("cat > /proc/self/mem", Verdict::Sandbox),
        ("cat < /dev/null > /dev/null", Verdict::Unsandboxed),
    ] {
        let decision = decide(&files, Some("/usr/bin"), text);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
}

#[test]
fn a_path_of_the_settings_is_looked_at_too() {
    let text = r#"{"excludedCommands": ["docker:*"], "environment": {"set": {"PATH": "/ws/bin:/usr/bin"}}}"#;
    assert_eq!(super::decide(&policy(text), "docker ps").verdict, Verdict::Sandbox);
}

#[test]
fn nothing_runs_without_walls_where_commands_leave_what_they_want() {
    let text = r#"{"excludedCommands": ["git status", "cd:*"]}"#;
    let cache = "/home/me/.cache/stockade/tools/1";
    let files = tree()
        .text("/settings.json", text)
        .directory(cache)
        .directory("/ws/sub")
        .directory("/ws/tmp")
        .link("/ws/same", "/ws/sub")
        .directory("/ws/made/objects")
        .directory("/ws/made/refs")
        .directory("/ws/made/below")
        .file("/ws/made/HEAD")
        .directory("/srv/others.git/objects")
        .directory("/srv/others.git/refs")
        .file("/srv/others.git/HEAD");
    let mut inputs = inputs();
    inputs.settings = vec![settings_file(crate::Layer::User, crate::Shape::Native)];
    inputs.own.tool_cache = Some(cache.into());
    let policy = crate::Policy::load(inputs, &files).unwrap();
    let at = |cwd: &std::path::Path, text: &str| {
        let environment = vec![("PATH".into(), "/usr/bin".into())];
        policy.decide(&Request { cwd: cwd.to_owned(), environment, ..shell(text) }, &files)
    };
    let place = |path: &'static str| std::path::Path::new(path);
    assert_eq!(at(place("/ws/sub"), "git status").verdict, Verdict::Unsandboxed);
    assert_eq!(at(place("/usr/bin"), "git status").verdict, Verdict::Unsandboxed);
    // Where commands cannot have made it.
    assert_eq!(at(place("/srv/others.git"), "git status").verdict, Verdict::Unsandboxed);
    assert_eq!(at(place("/ws"), "cd sub && git status").verdict, Verdict::Unsandboxed);
    let moved = at(place("/ws/same"), "git status; cd '../sub' && git status");
    assert_eq!(moved.verdict, Verdict::Unsandboxed, "{}", moved.reason);
    assert_eq!(moved.directory.as_deref(), Some(place("/ws/sub")));
    let entered = Opening { name: 15..23, path: "/ws/sub".into(), opens: Opens::ToEnter };
    assert_eq!(moved.openings, [entered]);
    for (cwd, text) in [
        // Where the second one begins depends on whether the first one's shell is still there.
        (place("/"), "(cd ws); cd tmp; git status"),
        (place("/ws"), "cd not-there && git status"),
        (place("/ws/made"), "git status"),
        (place("/ws"), "cd made/below && git status"),
        (place("/ws"), "cd -- sub && git status"),
        (place("/ws"), "cd '' && git status"),
        (place("/ws/gone"), "git status"),
        (place("/tmp/x"), "git status"),
        (place("/ws/../tmp/x"), "git status"),
        (place("/proc/self/cwd"), "git status"),
        (place("/ws"), "cd /tmp/x && git status"),
        (place("/ws"), "cd ../tmp && git status"),
        (place("/ws"), "cd -P /tmp && git status"),
        (place("/ws"), "cd - && git status"),
        (place("/ws"), "cd && git status"),
        (place("/ws"), "cd $OLD && git status"),
        (place("/home/me/.cache/stockade/tools/1/r"), "git status"),
        (place("/ws"), "cd /home/me/.cache/stockade/tools/1/r && git status"),
    ] {
        let decision = at(cwd, text);
        assert_eq!(decision.verdict, Verdict::Sandbox, "{} {text}", cwd.display());
    }
}

#[test]
fn variables_that_lead_to_what_commands_write_keep_everything_behind_walls() {
    let files = tree()
        .file("/ws/env.sh")
        .file("/etc/env.sh")
        .link("/opt/env.sh", "/ws/env.sh")
        .directory("/srv/data");
    let policy = crate::testing::load(&files, crate::Layer::User, crate::Shape::Native, EXCLUDED).unwrap();
    for (name, value, expected) in [
        ("BASH_ENV", "/ws/env.sh", Verdict::Sandbox),
        ("BASH_ENV", "env.sh", Verdict::Sandbox),
        ("BASH_ENV", "/opt/env.sh", Verdict::Sandbox),
        ("BASH_ENV", "/opt/$LATER", Verdict::Sandbox),
        ("BASH_ENV", "/etc/env.sh", Verdict::Unsandboxed),
        ("LD_LIBRARY_PATH", "/usr/lib:/srv/data/lib", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "/usr/lib", Verdict::Unsandboxed),
        ("NODE_OPTIONS", "--require=/ws/a.js", Verdict::Sandbox),
        ("HOME", "/ws/home", Verdict::Sandbox),
        ("PWD", "/ws", Verdict::Unsandboxed),
        ("COLOUR", "/ws/red", Verdict::Unsandboxed),
    ] {
        let environment = vec![("PATH".into(), "/usr/bin".into()), (name.into(), value.into())];
        let decision = policy.decide(&Request { environment, ..shell("docker ps") }, &files);
        assert_eq!(decision.verdict, expected, "{name}={value}: {}", decision.reason);
    }
}

#[test]
fn files_of_redirections_are_named_to_whoever_starts_it() {
    let files = tree().file("/ws/in");
    let text = "cat < in | cat >> 'new file' 2>&1 && docker ps > /dev/null";
    let decision = decide(&files, Some("/usr/bin"), text);
    assert_eq!(decision.verdict, Verdict::Unsandboxed, "{}", decision.reason);
    let opened: Vec<_> = decision
        .openings
        .iter()
        .map(|opening| (&text[opening.name.clone()], opening.path.to_str().unwrap(), opening.opens))
        .collect();
    assert_eq!(
        opened,
        [("in", "/ws/in", Opens::ForReading), ("'new file'", "/ws/new file", Opens::ForWriting)]
    );
    // What stays behind walls opens nothing out here.
    assert_eq!(decide(&files, Some("/usr/bin"), "cat > x; rm y").openings, []);
}
