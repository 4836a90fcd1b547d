//! I23, I24: which variables reach the command.

use crate::support::{Answer, Run, each_caller};
use std::collections::BTreeMap;

#[track_caller]
fn environment(run: Run<'_>) -> BTreeMap<String, String> {
    let answer: Answer = run.probe(["env"]);
    let words = answer.words();
    words
        .iter()
        .map(|word| {
            let text = word.to_string_lossy();
            let (name, value) = text.split_once('=').expect("NAME=VALUE");
            (name.to_string(), value.to_string())
        })
        .collect()
}

const SECRETS: [&str; 22] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "NPM_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "DATABASE_URL",
    "PGPASSWORD",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "TMUX",
    "STY",
    "SECRET",
    "MY_PASSWORD",
    "XAUTHORITY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Variables that make later programs run code of somebody's choice.
const HIJACKS: [&str; 14] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PERL5OPT",
    "RUBYOPT",
    "BASH_ENV",
    "ENV",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "PROMPT_COMMAND",
    "IFS",
];

/// I24
#[test]
fn i24_secrets_are_absent() {
    each_caller(|world| {
        let mut run = world.run();
        for name in SECRETS.iter().chain(&HIJACKS) {
            // A preload that cannot be found would only make noise.
            run = run.var(name, "/nonexistent/SECRET");
        }
        let seen = environment(run);
        for name in SECRETS.iter().chain(&HIJACKS) {
            assert!(!seen.contains_key(*name), "{name} reached the command: {seen:?}");
        }
        assert!(!seen.values().any(|value| value.contains("SECRET")), "{seen:?}");
    });
}

#[test]
fn the_allow_list_passes() {
    each_caller(|world| {
        let named = [
            ("LANG", "de_DE.UTF-8"),
            ("LC_ALL", "C"),
            ("LC_TIME", "C"),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("NO_COLOR", "1"),
            ("TZ", "Europe/Berlin"),
            ("CI", "true"),
            ("EDITOR", "vi"),
            ("USER", "somebody"),
            ("LOGNAME", "somebody"),
            ("SHELL", "/bin/bash"),
            ("JAVA_HOME", "/opt/java"),
            ("VIRTUAL_ENV", "/opt/venv"),
            ("RUSTUP_HOME", "/opt/rustup"),
            ("NVM_DIR", "/opt/nvm"),
        ];
        let run = named.iter().fold(world.run(), |run, (name, value)| run.var(name, value));
        let seen = environment(run);
        for (name, value) in named {
            assert_eq!(seen.get(name).map(String::as_str), Some(value), "{name}: {seen:?}");
        }
        assert_eq!(seen.get("HOME").map(String::as_str), world.home.to_str(), "{seen:?}");
        assert!(seen["PATH"].contains("/usr/bin"), "{seen:?}");
    });
}

#[test]
fn named_variables() {
    each_caller(|world| {
        let run = world
            .run()
            .var("TOKEN", "from outside")
            .var("OTHER", "stays outside")
            .opts(["--env", "ADDED=with = signs\nand lines", "--env", "LANG=changed", "--env", "EMPTY="])
            .opts(["--pass-env", "TOKEN", "--pass-env", "ABSENT"]);
        let seen = environment(run);
        assert_eq!(seen.get("ADDED").map(String::as_str), Some("with = signs\nand lines"));
        assert_eq!(seen.get("LANG").map(String::as_str), Some("changed"));
        assert_eq!(seen.get("EMPTY").map(String::as_str), Some(""));
        assert_eq!(seen.get("TOKEN").map(String::as_str), Some("from outside"));
        assert!(!seen.contains_key("OTHER") && !seen.contains_key("ABSENT"), "{seen:?}");
    });
}

#[test]
fn broken_variables_are_refused() {
    each_caller(|world| {
        for value in ["NOEQUALS", "=value", ""] {
            world.run().with("--env", value).program(["true"]).refused_to_start(&["--env"]);
        }
        for name in ["", "A=B"] {
            world.run().with("--pass-env", name).program(["true"]).refused_to_start(&["--pass-env"]);
        }
    });
}

/// A preload given on purpose acts inside only.
#[test]
fn i23_a_preload_reaches_the_command_and_not_the_launcher() {
    each_caller(|world| {
        let seen = environment(world.run().opts(["--env", "LD_PRELOAD=/nonexistent/x.so"]));
        assert_eq!(seen.get("LD_PRELOAD").map(String::as_str), Some("/nonexistent/x.so"));
        let ran = world.run().opts(["--env", "LD_PRELOAD=/nonexistent/x.so"]).program(["true"]);
        ran.exits(0);
        assert!(
            ran.err().matches("cannot be preloaded").count() <= 1,
            "more than the command was touched{ran}"
        );
    });
}

/// Tool caches point to a private place that can be written and is not the host's.
#[test]
fn caches_are_private_and_writable() {
    each_caller(|world| {
        let seen = environment(world.run());
        for name in ["npm_config_cache", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "GOCACHE", "UV_CACHE_DIR"] {
            let Some(value) = seen.get(name) else { panic!("{name} is not set: {seen:?}") };
            assert!(value.starts_with('/'), "{name}={value}");
            let file = format!("{value}/probe-{name}");
            let ran = world.run().shell(&format!("mkdir -p '{value}' && echo x > '{file}'"));
            ran.exits(0);
            // It lives on between runs of this workspace.
            world.probe(["read", &file]).ok();
            // Another workspace has another one.
            let other = world.dir(world.home.join("other-workspace"));
            let there = environment(world.run().at(&other));
            assert_ne!(there.get(name), seen.get(name), "{name} is shared between workspaces");
        }
    });
}

#[test]
fn values_that_are_not_text_survive() {
    each_caller(|world| {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let answer = world
            .run()
            .var("TOKEN", OsStr::from_bytes(b"\xff\xfe"))
            .opts(["--pass-env", "TOKEN"])
            .probe(["env"]);
        assert!(answer.ok().contains("TOKEN=%ff%fe"), "{}{}", answer.line(), answer.ran());
    });
}
