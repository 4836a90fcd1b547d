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
        (&planted, Some("/usr/bin:/ws/bin"), "cat x", Verdict::Unsandboxed),
        // It runs others by names that nobody has to have.
        (&planted, Some("/usr/bin:/ws/bin"), "docker ps", Verdict::Sandbox),
        (&planted, Some("/usr/bin:/ws/bin"), "/usr/bin/docker ps", Verdict::Sandbox),
        (&planted, Some("/usr/bin:bin"), "docker ps", Verdict::Sandbox),
        (&planted, Some("/usr/bin:"), "docker ps", Verdict::Sandbox),
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
        (&tree(), Some("/usr/bin:/usr/../ws/bin"), "cat x", Verdict::Unsandboxed),
        (&tree(), Some("/usr/bin:/usr/../ws/bin"), "docker ps", Verdict::Sandbox),
        (&tree(), Some("/usr/../ws/bin:/usr/bin"), "docker ps", Verdict::Sandbox),
        // Wrappers are programs too.
        (&tree().file("/ws/bin/timeout"), Some("/usr/bin:/ws/bin"), "nohup cat x", Verdict::Unsandboxed),
        (&tree(), Some("/usr/bin:/ws/bin"), "setsid cat x", Verdict::Sandbox),
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
        .link("/opt/link", "/ws/lib")
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
        // Nobody knows every variable; a path is one under any name, a mere word is none.
        ("TCL_LIBRARY", "/ws/lib", Verdict::Sandbox),
        ("COLOUR", "/ws/red", Verdict::Sandbox),
        ("COLOUR", "light:/usr/share:/ws/red", Verdict::Sandbox),
        ("COLOUR", "file:///ws/red", Verdict::Sandbox),
        ("COLOUR", "red", Verdict::Unsandboxed),
        ("COLOUR", "env.sh", Verdict::Sandbox),
        ("COLOUR", "./red", Verdict::Sandbox),
        ("COLOUR", "/usr/share/red", Verdict::Unsandboxed),
        ("GITHUB_WORKSPACE", "/ws", Verdict::Unsandboxed),
        // An empty or relative part is the working directory, which is the workspace.
        ("LD_LIBRARY_PATH", ":/opt/x/lib", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "/opt/x/lib:", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "/opt/x/lib::/usr/lib", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "$ORIGIN/../lib:/usr/lib", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "/usr/$LIB", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "/opt/link", Verdict::Sandbox),
        ("LD_LIBRARY_PATH", "", Verdict::Unsandboxed),
        ("LD_PRELOAD", "libfakeroot.so", Verdict::Unsandboxed),
        ("LD_PRELOAD", "./lib.so", Verdict::Sandbox),
        ("PYTHONPATH", ".", Verdict::Sandbox),
        ("PYTHONPATH", "/usr/share/x", Verdict::Unsandboxed),
        ("NODE_PATH", "lib", Verdict::Sandbox),
        ("RUBYLIB", ".", Verdict::Sandbox),
        ("PERL5LIB", "/usr/share/perl5:lib", Verdict::Sandbox),
        ("MANPATH", ":/usr/local/man", Verdict::Unsandboxed),
        ("MANPATH", "man", Verdict::Sandbox),
        ("WINDOWPATH", "2", Verdict::Unsandboxed),
        ("XDG_DATA_DIRS", "/usr/share/gnome:/usr/share:", Verdict::Unsandboxed),
        ("XDG_MENU_PREFIX", "gnome-", Verdict::Unsandboxed),
        ("XDG_SESSION_TYPE", "wayland", Verdict::Unsandboxed),
        ("NODE_OPTIONS", "--max-old-space-size=4096", Verdict::Unsandboxed),
        ("NODE_OPTIONS", "--require=./x", Verdict::Sandbox),
        ("NODE_OPTIONS", "--require dotenv/config", Verdict::Sandbox),
        ("NODE_OPTIONS", "-r hook", Verdict::Sandbox),
        ("NODE_OPTIONS", "--import=hook", Verdict::Sandbox),
        ("NODE_OPTIONS", "--require=/usr/lib/x.js", Verdict::Unsandboxed),
        ("PERL5OPT", "-I. -Mx", Verdict::Sandbox),
        ("PERL5OPT", "-Mstrict", Verdict::Unsandboxed),
        ("JAVA_TOOL_OPTIONS", "-javaagent:x.jar", Verdict::Sandbox),
        (
            "JAVA_TOOL_OPTIONS",
            "-javaagent:/usr/share/x.jar -Dfile.encoding=UTF-8 -Xmx2g",
            Verdict::Unsandboxed,
        ),
        ("GIT_EXTERNAL_DIFF", "sh env.sh", Verdict::Sandbox),
        ("GIT_SSH_COMMAND", "./x", Verdict::Sandbox),
        ("GIT_SSH_COMMAND", "ssh -i ~/.ssh/key -o BatchMode=yes", Verdict::Unsandboxed),
        ("PAGER", "./x", Verdict::Sandbox),
        ("PAGER", "less -R", Verdict::Unsandboxed),
        ("LESSOPEN", "||/usr/bin/lesspipe.sh %s", Verdict::Unsandboxed),
        ("LESSOPEN", "|tools/pipe %s", Verdict::Sandbox),
        ("EDITOR", "./x", Verdict::Sandbox),
        ("EDITOR", "vim", Verdict::Unsandboxed),
        ("SHELL", "./sh", Verdict::Sandbox),
        ("SHELL", "/bin/bash", Verdict::Unsandboxed),
        ("CARGO_HOME", "./c", Verdict::Sandbox),
        ("DOCKER_CONFIG", "d", Verdict::Sandbox),
        ("DOCKER_CONFIG", "/home/me/.docker", Verdict::Unsandboxed),
        ("DOCKER_HOST", "unix:///run/docker.sock", Verdict::Unsandboxed),
        ("MAKEFLAGS", "-f/ws/m", Verdict::Sandbox),
        ("MAKEFLAGS", "-f m", Verdict::Sandbox),
        ("MAKEFLAGS", "rR -j8 --jobserver-auth=3,4", Verdict::Unsandboxed),
        ("NO_PROXY", "10.0.0.0/8,localhost", Verdict::Unsandboxed),
        ("https_proxy", "http://proxy.example.org:3128/", Verdict::Unsandboxed),
        ("GOPRIVATE", "example.org/team/*", Verdict::Unsandboxed),
        // A bare word is a file of the working directory.
        ("GIT_CONFIG_SYSTEM", "word", Verdict::Sandbox),
        ("GIT_CONFIG_GLOBAL", "word", Verdict::Sandbox),
        ("GIT_CONFIG_GLOBAL", "/dev/null", Verdict::Unsandboxed),
        ("GIT_CONFIG_GLOBAL", "/etc/gitconfig", Verdict::Unsandboxed),
        ("OPENSSL_CONF", "x", Verdict::Sandbox),
        ("OPENSSL_CONF", "/etc/ssl/openssl.cnf", Verdict::Unsandboxed),
        ("npm_config_userconfig", "x", Verdict::Sandbox),
        ("npm_config_userconfig", "/home/me/.npmrc", Verdict::Unsandboxed),
        ("VIMINIT", "source x", Verdict::Sandbox),
        ("VIMINIT", "so x", Verdict::Sandbox),
        ("VIMINIT", "set nocompatible | syntax on", Verdict::Unsandboxed),
        ("JDK_JAVA_OPTIONS", "@x", Verdict::Sandbox),
        ("JDK_JAVA_OPTIONS", "-Xmx1g @/etc/java.args", Verdict::Unsandboxed),
        ("NODE_OPTIONS", "--experimental-config-file=x", Verdict::Sandbox),
        ("NODE_OPTIONS", "--experimental-default-config-file", Verdict::Sandbox),
        ("NODE_OPTIONS", "--env-file x", Verdict::Sandbox),
        ("DOCKER_HOST", "unix://x.sock", Verdict::Sandbox),
        ("DOCKER_HOST", "unix:///ws/x.sock", Verdict::Sandbox),
        ("DOCKER_HOST", "tcp://build.example.org:2376", Verdict::Unsandboxed),
        ("PS4", "+ $(./x) ", Verdict::Sandbox),
        ("PS4", "+ `./x` ", Verdict::Sandbox),
        ("PS4", "+${BASH_SOURCE}:${LINENO}: ", Verdict::Unsandboxed),
        // What no program obeys may lead anywhere.
        ("AWS_PROFILE", "work", Verdict::Unsandboxed),
        ("RUSTFLAGS", "-C target-cpu=native", Verdict::Unsandboxed),
        ("RUSTFLAGS", "-C linker=./x", Verdict::Sandbox),
        ("CARGO_ENCODED_RUSTFLAGS", "-C\u{1f}linker=./x", Verdict::Sandbox),
        ("LESSHISTFILE", "-", Verdict::Unsandboxed),
        ("LESSHISTFILE", "x", Verdict::Sandbox),
        ("NIX_PATH", "nixpkgs=/nix/var/nix/profiles/channels:/nix/x", Verdict::Unsandboxed),
        ("NIX_PATH", "nixpkgs=/ws/x", Verdict::Sandbox),
        ("CLAUDE_PROJECT_DIR", "/ws", Verdict::Unsandboxed),
        ("PROJECT_ROOT", "/ws", Verdict::Unsandboxed),
        ("npm_package_json", "/ws/package.json", Verdict::Unsandboxed),
        ("npm_config_local_prefix", "/ws", Verdict::Unsandboxed),
        ("DIRENV_DIR", "-/ws", Verdict::Unsandboxed),
        ("DIRENV_FILE", "/ws/.envrc", Verdict::Unsandboxed),
        ("VIRTUAL_ENV", "/ws/.venv", Verdict::Unsandboxed),
        ("CARGO_MANIFEST_DIR", "/ws", Verdict::Unsandboxed),
        ("CARGO_TARGET_DIR", "/ws/target", Verdict::Unsandboxed),
        ("CDPATH", ".:/ws", Verdict::Unsandboxed),
        ("FLASK_APP", "app.py", Verdict::Unsandboxed),
        ("COMPOSE_FILE", "/ws/compose.yml", Verdict::Unsandboxed),
        ("CFLAGS", "-O2 -I/ws/include -isystem /ws/y", Verdict::Unsandboxed),
        ("CFLAGS", "-O2 -fplugin=/ws/x.so", Verdict::Sandbox),
        ("KUBECONFIG", "/ws/kubeconfig", Verdict::Sandbox),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus", Verdict::Unsandboxed),
    ] {
        let environment = vec![
            ("PATH".into(), "/usr/bin".into()),
            (name.into(), value.into()),
            ("HOME".into(), "/home/me".into()),
        ];
        let decision = policy.decide(&Request { environment, ..shell("docker ps") }, &files);
        assert_eq!(decision.verdict, expected, "{name}={value}: {}", decision.reason);
    }
    // To some programs more is meant than to others.
    let environment = vec![("PATH".into(), "/usr/bin".into()), ("VIRTUAL_ENV".into(), "/ws/.venv".into())];
    let decision = policy.decide(&Request { environment, ..shell("docker ps; cat uv") }, &files);
    assert_eq!(decision.verdict, Verdict::Sandbox, "{}", decision.reason);
    // Where commands cannot write, a relative part is as good as any other; a text that goes elsewhere takes it along.
    let at = |cwd: &str, text: &str| {
        let environment = vec![("PATH".into(), "/usr/bin".into()), ("PYTHONPATH".into(), ".".into())];
        policy.decide(&Request { environment, cwd: cwd.into(), ..shell(text) }, &files).verdict
    };
    assert_eq!(at("/etc", "docker ps"), Verdict::Unsandboxed);
    assert_eq!(at("/etc", "cd /ws && docker ps"), Verdict::Sandbox);
}

#[test]
fn what_runs_a_script_is_looked_at_like_the_script() {
    let with = |text: &str| tree().text("/opt/bin/tool", text).file("/usr/bin/python3").file("/usr/bin/env");
    let chain = |last: &str| {
        let mut files = with("#!/opt/a\n").text("/opt/c", &format!("#!{last}\n"));
        for (from, to) in [("a", "b"), ("b", "c")] {
            files = files.text(&format!("/opt/{from}"), &format!("#!/opt/{to}\n"));
        }
        files
    };
    let long = format!("#!/usr/bin/python3 {}\n", "x".repeat(300));
    for (files, expected) in [
        (with("#!/usr/bin/python3 -I\n"), Verdict::Unsandboxed),
        (with("#! /usr/bin/python3\n"), Verdict::Unsandboxed),
        (with("#!/usr/bin/python3"), Verdict::Unsandboxed),
        (with("#!/ws/venv/bin/python\n"), Verdict::Sandbox),
        (with("#! \t/ws/venv/bin/python -I\n"), Verdict::Sandbox),
        (with("#!/opt/venv/python\n").link("/opt/venv", "/ws/venv"), Verdict::Sandbox),
        (with("#!venv/bin/python\n"), Verdict::Sandbox),
        (with("#!python\n"), Verdict::Sandbox),
        (with("#!/usr/bin/python3 /ws/first.py\n"), Verdict::Sandbox),
        (with("#!/usr/bin/python3 -c/ws/first.py\n"), Verdict::Sandbox),
        (with(&long), Verdict::Sandbox),
        (with("#!\necho\n"), Verdict::Unsandboxed),
        (with("#!/usr/bin/env python3\n"), Verdict::Unsandboxed),
        (with("#!/usr/bin/env -S python3 -u\n"), Verdict::Unsandboxed),
        (with("#!/usr/bin/env node\n").text("/usr/bin/node", "#!/ws/node\n"), Verdict::Sandbox),
        (with("#!/usr/bin/env /ws/python\n"), Verdict::Sandbox),
        (with("#!/usr/bin/env -S A=b ./python\n"), Verdict::Sandbox),
        (with("#!/usr/bin/env -S PATH=/ws python3\n"), Verdict::Sandbox),
        (with("#!/usr/bin/env -S ${HOME}/x\n"), Verdict::Sandbox),
        (chain("/usr/bin/python3"), Verdict::Unsandboxed),
        (chain("/ws/python"), Verdict::Sandbox),
        (chain("/opt/a"), Verdict::Sandbox),
    ] {
        let decision = decide(&files, Some("/usr/bin"), "/opt/bin/tool");
        assert_eq!(decision.verdict, expected, "{}", decision.reason);
    }
    let behind = tree().text("/opt/docker", "#!/usr/bin/env python3\n").file("/usr/bin/env");
    assert_eq!(decide(&behind, Some("/opt:/ws/bin"), "docker ps").verdict, Verdict::Sandbox);
    assert_eq!(decide(&behind, Some("/opt:/usr/bin"), "docker ps").verdict, Verdict::Unsandboxed);
}

#[test]
fn the_file_that_nohup_makes_is_named_to_whoever_starts_it() {
    let told = |request: Request| {
        let environment = vec![("PATH".into(), "/usr/bin".into())];
        let policy = policy(EXCLUDED);
        let decision = policy.decide(&Request { environment, ..request }, &tree());
        assert_eq!(decision.verdict, Verdict::Unsandboxed, "{}", decision.reason);
        decision.openings
    };
    let file = |name| Opening { name, path: "/ws/nohup.out".into(), opens: Opens::ForNohup };
    assert_eq!(told(shell("docker ps; nice 'nohup' docker ps")), [file(16..23)]);
    let words = ["timeout", "5", "/usr/bin/nohup", "docker", "ps"].map(Into::into).to_vec();
    assert_eq!(told(Request { command: crate::CommandLine::Argv(words), ..shell("") }), [file(2..3)]);
    assert_eq!(told(shell("docker ps")), []);
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
