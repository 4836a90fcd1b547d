//! What a text gives a listed command besides its words: variables, input, files that are no files.

use super::{shell, tree};
use crate::testing::{Tree, load};
use crate::{Decision, FileKind, Files, Identity, Layer, Request, Shape, Verdict};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const EXCLUDED: &str = r#"{"excludedCommands": ["make:*", "npm run lint", "cat:*", "echo:*", "cd:*", "ls:*"],
    "environment": {"set": {"FROM_SETTINGS": "./evil"}}}"#;

fn files() -> Tree {
    tree()
        .files(&["/ws/evil", "/ws/tools/evil", "/ws/src/inner", "/usr/bin/ls"])
        .directory("/ws/test")
        .link("/ws/pointer", "/usr/bin/docker")
        .link("/ws/suite", "/ws/test")
        .link("/opt/evil", "/ws/evil")
}

fn decide(excluded: &str, text: &str) -> Decision {
    let environment = [
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("HOME", "/home/me"),
        ("INHERITED", "plain"),
        ("PROJECT_ROOT", "/ws/evil"),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
    let policy = load(&files(), Layer::User, Shape::Native, excluded).unwrap();
    policy.decide(&Request { environment, ..shell(text) }, &files())
}

#[test]
fn variables_of_any_name_are_followed_to_what_commands_can_write() {
    for (set, planted) in [
        ("ANYTHING=./evil", true),
        ("ANYTHING=./not-there-yet", true),
        ("ANYTHING=../ws/evil", true),
        ("ANYTHING=.", true),
        ("ANYTHING=/ws/evil", true),
        ("ANYTHING=/opt/evil", true),
        ("ANYTHING=evil", true),
        ("ANYTHING=\"evil\"", true),
        ("ANYTHING=e'vi'l", true),
        ("ANYTHING=pointer", true),
        ("ANYTHING='sh evil'", true),
        ("ANYTHING='sh -x</ws/evil'", true),
        ("ANYTHING=-fevil", true),
        ("ANYTHING=--with=evil", true),
        ("ANYTHING=@evil", true),
        ("ANYTHING=file://evil", true),
        ("ANYTHING=a:evil", true),
        ("ANYTHING=tools/evil", true),
        ("ANYTHING=tools/not-there-yet", true),
        ("FOO=1 ANYTHING=./evil", true),
        // What it holds by then is not known, or is read once more.
        ("ANYTHING=$PWD/evil", true),
        ("ANYTHING=$PWD", true),
        ("ANYTHING=${OLDPWD}", true),
        ("ANYTHING=$BASH_COMMAND", true),
        ("ANYTHING=~+/evil", true),
        ("ANYTHING=$1", true),
        ("ANYTHING=$(echo ./evil)", true),
        ("ANYTHING=`echo ./evil`", true),
        ("ANYTHING=$INHERITED/evil", true),
        ("ANYTHING=$PROJECT_ROOT", true),
        ("ANYTHING=\"${FROM_SETTINGS}\"", true),
        ("ANYTHING='$$PWD/evil'", true),
        ("ANYTHING='$(shell id)'", true),
        ("ANYTHING='`id`'", true),
        ("FOO=bar", false),
        ("FOO=", false),
        ("FOO=''", false),
        ("CI=1", false),
        ("CI=$NOT_SET", false),
        ("FOO=$INHERITED BAR=\"${INHERITED}\"", false),
        // A directory of that name is there.
        ("NODE_ENV=test", false),
        ("NODE_ENV=suite", false),
        ("DEBUG=app:*", false),
        ("DEBUG='app:* other:[a-z]?'", false),
        ("PORT=3000", false),
        ("TZ=Europe/Berlin", false),
        ("URL=http://localhost:3000/x", false),
        ("SCOPE=@team/part", false),
        ("ANYTHING=/usr/bin/docker", false),
        ("ANYTHING=/dev/null", false),
        ("ANYTHING='less -R'", false),
        ("PATTERN='^a.*b$'", false),
        ("PRICE='5$ 6$'", false),
    ] {
        for text in [format!("{set} npm run lint"), format!("{set} make clean")] {
            let decision = decide(EXCLUDED, &text);
            let expected = if planted { Verdict::Sandbox } else { Verdict::Unsandboxed };
            assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
            let told = decision.reason.contains("sets ANYTHING");
            assert_eq!(told, planted, "{text}: {:?}", decision.parts);
        }
    }
}

#[test]
fn variables_that_env_sets_are_followed_too() {
    for (text, expected) in [
        ("env ANYTHING=./evil make clean", Verdict::Sandbox),
        ("env FOO=1 'ANYTHING=sh evil' npm run lint", Verdict::Sandbox),
        ("FOO=1 nice env ANYTHING=evil make", Verdict::Sandbox),
        ("env FOO=bar TZ=Europe/Berlin make clean", Verdict::Unsandboxed),
        // Where the text goes counts, and so does where it begins.
        ("cd src && ANYTHING=inner make", Verdict::Sandbox),
        ("cd src && ANYTHING=evil make", Verdict::Sandbox),
        ("cd src && ANYTHING=./x make", Verdict::Sandbox),
        ("cd src && CI=1 TZ=Europe/Berlin make", Verdict::Unsandboxed),
        ("ANYTHING=inner make", Verdict::Unsandboxed),
    ] {
        let decision = decide(EXCLUDED, text);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
    // Where commands cannot write, the names that are there lead nowhere.
    let policy = load(&files(), Layer::User, Shape::Native, EXCLUDED).unwrap();
    let request = Request { cwd: "/usr/bin".into(), ..shell("ANYTHING=docker OTHER=./ls make") };
    assert_eq!(policy.decide(&request, &files()).verdict, Verdict::Unsandboxed);
}

#[test]
fn variables_that_name_programs_are_listed() {
    for name in [
        "RM",
        "LEX",
        "YACC",
        "FC",
        "PC",
        "LINT",
        "INSTALL",
        "STRIP",
        "RANLIB",
        "OBJCOPY",
        "CROSS_COMPILE",
        "HOSTCC",
        "GO",
        "NPM",
        "NODE",
        "PIP",
        "PYTEST",
        "JAVA",
        "JAVACMD",
        "PROTOC",
        "DOCKER",
        "SUDO",
        "SED",
        "CP",
        "MV",
        "SH",
        "BASH",
        "CHROME_BIN",
        "FIREFOX_BIN",
        "EDGE_BIN",
        "CHROMIUM_BIN",
        "NODE_GYP_FORCE_PYTHON",
        "CVS_RSH",
        "COMPOSER",
    ] {
        let decision = decide(EXCLUDED, &format!("{name}=id make clean"));
        assert_eq!(decision.verdict, Verdict::Sandbox, "{name}");
        assert!(
            decision.reason.contains(&format!("it sets {name}, which may change")),
            "{}",
            decision.reason
        );
    }
}

#[test]
fn what_an_interpreter_reads_is_not_in_an_exact_pattern() {
    let exact = r#"{"excludedCommands": ["node", "python3.12", "psql -d x", "timeout 5 ruby", "bash", "/usr/bin/perl",
        "cat:*", "echo:*", "cd:*", "sort"]}"#;
    for (text, fed) in [
        ("node <<'E'\nid\nE", true),
        ("node <<E\nid\nE", true),
        ("node <<< evil", true),
        ("node < evil", true),
        ("node 0< evil", true),
        ("node <> evil", true),
        ("node < <(cat evil)", true),
        ("cat evil | node", true),
        ("cat evil |& node", true),
        ("cat evil |\n node", true),
        ("cat evil | (cd src; node)", true),
        ("cat evil | { node; }", true),
        ("cat evil | echo $(node)", true),
        ("cat evil | echo \"`node`\"", true),
        ("cat evil | cat <<E\n$(node)\nE", true),
        ("(echo a; node; echo b) < evil", true),
        ("{ node; echo b; } <<< evil", true),
        ("echo a; cat evil | cat | node > /dev/null", true),
        ("cat evil | CI=1 nice node", true),
        ("cat evil | python3.12", true),
        ("psql -d x < evil", true),
        ("timeout 5 ruby < evil", true),
        ("cat evil | bash", true),
        ("cat evil | /usr/bin/perl", true),
        ("node", false),
        ("node < /dev/null", false),
        ("node > out", false),
        ("node 2>&1 | cat", false),
        ("cat evil | sort; node", false),
        ("cat evil && node", false),
        ("(cat evil | cat); node", false),
        // It runs nothing of what it reads.
        ("sort < evil", false),
        ("cat evil | sort", false),
    ] {
        let decision = decide(exact, text);
        let expected = if fed { Verdict::Sandbox } else { Verdict::Unsandboxed };
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
        assert_eq!(
            decision.reason.contains("what it reads is not in the pattern"),
            fed,
            "{text}: {decision:?}"
        );
    }
    // Whoever leaves the words open chose so.
    for open in [r#"["node:*"]"#, r#"["node*"]"#, r#"["node", "node:*"]"#] {
        let decision = decide(&format!(r#"{{"excludedCommands": {open}}}"#), "node < evil");
        assert_eq!(decision.verdict, Verdict::Unsandboxed, "{open}: {}", decision.reason);
    }
}

/// The same files, but one is a pipe.
struct WithPipe(Tree);

impl Files for WithPipe {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        self.0.look(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.resolve(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.follow(path)
    }

    fn is_plain(&self, path: &Path) -> bool {
        path != Path::new("/ws/pipe") && self.0.is_plain(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        self.0.list(path)
    }
}

#[test]
fn only_plain_files_are_opened_for_redirections() {
    let files = WithPipe(files().file("/ws/pipe").link("/ws/to-pipe", "pipe"));
    let policy = load(&files.0, Layer::User, Shape::Native, EXCLUDED).unwrap();
    for (text, expected) in [
        ("ls > pipe", Verdict::Sandbox),
        ("ls >> /ws/pipe", Verdict::Sandbox),
        ("cat < pipe", Verdict::Sandbox),
        ("cat < to-pipe", Verdict::Sandbox),
        ("ls > test", Verdict::Sandbox),
        ("ls > evil", Verdict::Unsandboxed),
        ("ls > new", Verdict::Unsandboxed),
        ("ls > /dev/null", Verdict::Unsandboxed),
    ] {
        let decision = policy.decide(&shell(text), &files);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
        let told = decision.reason.contains("is no plain file");
        assert_eq!(told, expected == Verdict::Sandbox, "{text}: {}", decision.reason);
    }
}
