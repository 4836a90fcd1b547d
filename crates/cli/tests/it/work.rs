//! Real work with the default preset: cold caches, a fresh home, this machine's tools.

use crate::support::{Ran, Run, World, each_caller, eventually, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The environment of this test's own caller, so that toolchains below somebody's home are found.
fn with_toolchains(run: Run<'_>) -> Run<'_> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let mut run = run.var("PATH", std::env::var_os("PATH").unwrap_or_default());
    for (name, default) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv"), ("NVM_DIR", ".nvm")] {
        let place = std::env::var_os(name).map_or_else(|| home.join(default), PathBuf::from);
        if place.is_dir() {
            run = run.var(name, place);
        }
    }
    run
}

/// Whether this caller can use a tool at all; if not, the test is skipped by name.
fn has(world: &World, test: &str, tool: &str, version: &[&str]) -> bool {
    let ran = with_toolchains(world.bare("/usr/bin/env")).opt(tool).opts(version).go();
    if ran.code() != 0 {
        skip(&format!("work::{test} ({:?} caller)", world.caller), &format!("{tool} is not usable here"));
    }
    ran.code() == 0
}

fn run(world: &World) -> Run<'_> {
    with_toolchains(world.run()).patience(PATIENCE)
}

#[track_caller]
fn works(world: &World, text: &str) -> Ran {
    let ran = run(world).shell(&format!("set -e\n{text}"));
    ran.exits(0);
    ran
}

#[test]
fn cargo_builds_and_tests() {
    each_caller(|world| {
        if !has(world, "cargo_builds_and_tests", "cargo", &["--version"])
            || !has(world, "cargo_builds_and_tests", "cc", &["--version"])
        {
            return;
        }
        world.file("Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nhelper = { path = \"vendor/helper\" }\n[workspace]\n");
        world.file("src/main.rs", "fn main() { println!(\"{}\", helper::double(21)); }\n#[test]\nfn t() { assert_eq!(helper::double(2), 4); }\n");
        world.file("build.rs", "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n");
        world.file(
            "vendor/helper/Cargo.toml",
            "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        );
        world.file("vendor/helper/src/lib.rs", "pub fn double(x: u32) -> u32 { 2 * x }\n");
        let ran = run(world).program(["cargo", "build", "--offline"]);
        ran.exits(0);
        assert!(world.ws.join("target/debug/app").exists(), "{ran}");
        let ran = run(world).program(["cargo", "run", "--offline", "-q"]);
        assert_eq!(ran.out(), "42\n", "{ran}");
        run(world).program(["cargo", "test", "--offline", "-q"]).exits(0);
        assert!(!world.home.join(".cargo").exists(), "the host's cargo home was touched");
    });
}

/// Cargo does git's work itself, with a library.
#[test]
fn cargo_makes_and_fetches_repositories() {
    each_caller(|world| {
        let test = "cargo_makes_and_fetches_repositories";
        if !has(world, test, "cargo", &["--version"]) || !has(world, test, "cc", &["--version"]) {
            return;
        }
        works(
            world,
            "cargo new -q helper; echo 'pub fn double(x: u32) -> u32 { 2 * x }' > helper/src/lib.rs; rm helper/src/main.rs",
        );
        assert!(world.ws.join("helper/.git/config").exists());
        git_identity(world);
        let ran = works(
            world,
            "cd helper; ln -s src/lib.rs link.rs; git add .; git commit -qm first; cd ..
             cargo new -q app; echo 'fn main() { println!(\"{}\", helper::double(21)); }' > app/src/main.rs
             echo \"helper = { git = 'file://$PWD/helper' }\" >> app/Cargo.toml
             cd app; cargo run -q; test -L $CARGO_HOME/git/checkouts/*/*/link.rs; git -C $CARGO_HOME/git/db/* rev-parse --is-bare-repository",
        );
        assert_eq!(ran.out(), "42\ntrue\n", "{ran}");
        assert!(!ran.err().contains("refused"), "{ran}");
    });
}

fn git_identity(world: &World) {
    world.file(
        world.home.join(".gitconfig"),
        "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n",
    );
}

#[test]
fn git_in_a_fresh_directory() {
    each_caller(|world| {
        if !has(world, "git_in_a_fresh_directory", "git", &["--version"]) {
            return;
        }
        git_identity(world);
        world.file("one", "1\n");
        works(world, "git init -q . && git add . && git commit -qm first");
        works(
            world,
            "echo 2 > two; git add two; git commit -qm second
             git checkout -qb side; echo 3 > three; git add three; git commit -qm third
             git checkout -q main; git merge -q side; git tag v1
             echo changed > one; git stash -q; git stash pop -q; git diff --quiet && exit 1
             git checkout -q -- one; git branch -d side; git gc -q; git fsck --no-progress 2>/dev/null",
        );
        let ran = works(world, "git log --format=%s");
        assert_eq!(ran.out(), "third\nsecond\nfirst\n", "{ran}");
        let ran = works(
            world,
            "mkdir c; cp -a .git c/; cd c; git log --format=%s -1; git worktree add -q ../d; git worktree list | wc -l",
        );
        assert_eq!(ran.out(), "third\n2\n", "{ran}");
        assert!(!ran.err().contains("refused"), "{ran}");
    });
}

#[test]
fn git_in_an_existing_repository() {
    each_caller(|world| {
        if !has(world, "git_in_an_existing_repository", "git", &["--version"]) {
            return;
        }
        git_identity(world);
        world.file("one", "1\n");
        let ran =
            world.bare("/bin/sh").opts(["-c", "git init -q . && git add . && git commit -qm first"]).go();
        ran.exits(0);
        // Its hook runs, inside.
        world.script(".git/hooks/pre-commit", "#!/bin/sh\ntouch hook-ran\n");
        let config = fs::read(world.ws.join(".git/config")).unwrap();
        works(
            world,
            "echo 2 > two; git add two; git commit -qm second; test -e hook-ran
             git branch other; git checkout -q other; echo 3 >> one; git commit -qam third
             git checkout -q -; git merge -q other; git status --short >/dev/null
             echo x > one; git stash -q; git stash pop -q; git checkout -q -- one
             git reset -q --hard HEAD~1; git rebase -q other; git log --oneline >/dev/null",
        );
        assert_eq!(fs::read(world.ws.join(".git/config")).unwrap(), config, "git's settings changed");
        let ran = world
            .bare("/bin/sh")
            .opts(["-c", "git log --format=%s && git fsck --no-dangling --no-progress 2>/dev/null"])
            .go();
        assert_eq!(ran.out(), "third\nsecond\nfirst\n", "{ran}");
        // A local clone, and fetching from it.
        works(world, "git clone -q . clone && cd clone && git fetch -q && git log --oneline > /dev/null");
    });
}

#[test]
fn python_makes_an_environment_and_installs() {
    each_caller(|world| {
        let test = "python_makes_an_environment_and_installs";
        if !has(world, test, "python3", &["-c", "import venv, ensurepip"]) {
            return;
        }
        world.file(
            "wheel.py",
            "import zipfile
name, version = 'localpkg', '1.0'
info = f'{name}-{version}.dist-info'
with zipfile.ZipFile(f'{name}-{version}-py3-none-any.whl', 'w') as wheel:
    wheel.writestr(f'{name}/__init__.py', 'answer = 42\\n')
    wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')
",
        );
        works(
            world,
            "python3 wheel.py
             python3 -m venv .venv
             .venv/bin/pip install -q --no-index --disable-pip-version-check localpkg-1.0-py3-none-any.whl",
        );
        let ran = works(world, ".venv/bin/python -c 'import localpkg; print(localpkg.answer)'");
        assert_eq!(ran.out(), "42\n", "{ran}");
        // The standard library's own parallel machinery.
        works(
            world,
            "python3 -c 'import multiprocessing as m, tempfile, subprocess
with m.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with tempfile.TemporaryDirectory() as place:
    subprocess.run([\"true\"], check=True, cwd=place)
'",
        );
    });
}

#[test]
fn npm_installs_and_node_runs() {
    each_caller(|world| {
        if !has(world, "npm_installs_and_node_runs", "npm", &["--version"]) {
            return;
        }
        world.file(
            "pkg/package.json",
            "{\"name\": \"localpkg\", \"version\": \"1.0.0\", \"main\": \"index.js\"}",
        );
        world.file("pkg/index.js", "module.exports = 42;\n");
        world.file(
            "package.json",
            "{\"name\": \"app\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node app.js\"}}",
        );
        world.file("app.js", "console.log(require('localpkg'));\n");
        works(
            world,
            "(cd pkg && npm pack --silent --pack-destination .. > /dev/null)
             npm install --silent --offline --no-audit --no-fund ./localpkg-1.0.0.tgz",
        );
        let ran = works(world, "npm test --silent");
        assert_eq!(ran.out(), "42\n", "{ran}");
        assert!(!world.home.join(".npm").exists(), "the host's npm cache was touched");
        // A server and a client on the sandbox's own loopback, worker threads and a child.
        let ran = works(
            world,
            "node -e '
const http = require(\"http\"), { execFileSync } = require(\"child_process\"), { Worker } = require(\"worker_threads\");
execFileSync(\"true\");
new Worker(\"0\", { eval: true });
const server = http.createServer((_, answer) => answer.end(\"hello\")).listen(0, \"127.0.0.1\", () =>
  http.get({ port: server.address().port, host: \"127.0.0.1\" }, (answer) =>
    answer.on(\"data\", (data) => { console.log(String(data)); server.close(); })));
'",
        );
        assert_eq!(ran.out(), "hello\n", "{ran}");
    });
}

#[test]
fn make_in_parallel() {
    each_caller(|world| {
        if !has(world, "make_in_parallel", "make", &["--version"])
            || !has(world, "make_in_parallel", "cc", &["--version"])
        {
            return;
        }
        let objects: Vec<String> = (0..12).map(|number| format!("part{number}.o")).collect();
        for number in 0..12 {
            world.file(format!("part{number}.c"), format!("int part{number}(void) {{ return {number}; }}\n"));
        }
        world.file("main.c", "int part11(void);\nint main(void) { return part11(); }\n");
        world.file(
            "Makefile",
            format!("all: app\n\t$(MAKE) check\napp: main.o {0}\n\tcc -o $@ $^\ncheck:\n\t./app; test $$? -eq 11\n", objects.join(" ")),
        );
        works(world, "make -s -j4");
    });
}

#[test]
fn searching() {
    each_caller(|world| {
        world.file("src/a.txt", "needle\n");
        world.file(".env", "needle\n");
        let ran = run(world).shell("grep -rl needle . 2>/dev/null; find . -name '*.txt'");
        assert_eq!(ran.out(), "./src/a.txt\n./src/a.txt\n", "{ran}");
        if has(world, "searching", "rg", &["--version"]) {
            let ran = run(world).shell("rg -l --hidden needle 2>/dev/null; exit 0");
            assert_eq!(ran.out(), "src/a.txt\n", "{ran}");
        }
    });
}

/// Editors, package managers and archivers write beside a file and rename over it.
#[test]
fn everyday_acts_on_files() {
    each_caller(|world| {
        world.file("data", "old\n");
        works(
            world,
            "sed -i s/old/new/ data; grep -q new data
             cp -a data copy; mv copy moved; ln -s moved link; ln moved hard; rm hard
             mkdir -p deep/er; tar cf all.tar data moved link deep; mkdir out; tar xf all.tar -C out; test -h out/link
             mktemp -d > /dev/null; mktemp > /dev/null; echo x | tee tee > /dev/null
             chmod 755 data; touch -d 2020-01-01 data; mkfifo pipe; (echo through > pipe &) ; cat pipe | grep -q through
             sort -o data data; dd if=/dev/zero of=zeros bs=1k count=4 2>/dev/null; truncate -s 1M zeros; rm -rf deep out",
        );
    });
}

/// A terminal, a shell on it, and job control, driven from outside like a person would.
#[test]
fn an_interactive_shell_in_tmux() {
    each_caller(|world| {
        let test = "an_interactive_shell_in_tmux";
        if !has(world, test, "tmux", &["-V"]) || !has(world, test, "bash", &["--version"]) {
            return;
        }
        let terminal = Terminal::open(world);
        terminal.see("ready$");
        terminal.type_line("tty; echo tty-status-$?");
        terminal.see("tty-status-0");
        terminal.type_line("sleep 100");
        std::thread::sleep(Duration::from_millis(300));
        terminal.key("C-z");
        terminal.see("Stopped");
        terminal.type_line("jobs");
        terminal.see("[1]+  Stopped");
        terminal.type_line("fg");
        std::thread::sleep(Duration::from_millis(300));
        terminal.key("C-c");
        terminal.type_line("echo back-$((40+2))");
        terminal.see("back-42");
        terminal.type_line("stty size; echo size-$?");
        terminal.see("24 80");
        terminal.type_line("touch ../made-outside; echo write-$?");
        terminal.see("write-1");
        terminal.type_line("exit 7");
        terminal.see("left-with-7");
        assert!(!world.home.join("made-outside").exists());
    });
}

struct Terminal<'a> {
    world: &'a World,
}

impl<'a> Terminal<'a> {
    fn open(world: &'a World) -> Self {
        let stockade = &crate::support::binaries().stockade;
        let script = format!(
            "cd '{}' && '{}' run --env 'PS1=ready$ ' -- bash --norc --noprofile -i; echo left-with-$?; sleep 20",
            world.ws.display(),
            stockade.display()
        );
        let terminal = Self { world };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &script]).exits(0);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Ran {
        self.world
            .bare("/usr/bin/env")
            .var("TMUX_TMPDIR", &self.world.base)
            .var("TERM", "xterm")
            .opts(["tmux"])
            .opts(words)
            .go()
    }

    fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]).exits(0);
    }

    fn type_line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]).exits(0);
        self.key("Enter");
    }

    #[track_caller]
    fn see(&self, text: &str) {
        eventually(Duration::from_secs(15), || {
            let screen = self.tmux(&["capture-pane", "-p", "-S", "-100"]).out();
            if screen.contains(text) { Ok(()) } else { Err(format!("no {text:?} on the screen:\n{screen}")) }
        });
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Nothing of all this needs the host's home to be there.
#[test]
fn a_home_that_does_not_exist() {
    each_caller(|world| {
        let home = world.base.join("absent/home");
        let ran = world.run().var("HOME", &home).shell("echo x > made; cat made");
        ran.exits(0);
        assert_eq!(ran.out(), "x\n", "{ran}");
        assert!(!world.base.join("absent").exists(), "a home was made up{ran}");
        world.run().without_var("HOME").shell("true").exits(0);
        assert!(Path::new("/nonexistent").symlink_metadata().is_err());
    });
}
