//! The examples do what they say, as root and as an ordinary user.

#[cfg(test)]
mod run {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    /// Nobody's number: no account is needed to be an ordinary user.
    const USER: u32 = 61_234;

    const A_MOMENT: Duration = Duration::from_millis(5);

    /// Runs an example for each caller this process can be, in a working directory below a home of its own;
    /// gives what it printed to the check.
    fn each_caller(name: &str, check: impl Fn(&str, &Path)) {
        let own = fs::metadata("/proc/self").unwrap().uid();
        let callers = if own == 0 { vec![own, USER] } else { vec![own] };
        for caller in callers {
            let place = tempfile::Builder::new().prefix("stockade-example-").tempdir_in("/var/tmp").unwrap();
            let base = place.path();
            fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
            let program = base.join(name);
            fs::copy(built(name), &program).unwrap();
            let file = base.join("file");
            fs::write(&file, "").unwrap();
            for directory in ["home", "home/work"] {
                fs::create_dir(base.join(directory)).unwrap();
                chown(base.join(directory), Some(caller), Some(caller)).unwrap();
            }
            chown(&file, Some(caller), Some(caller)).unwrap();
            let mut command = Command::new(&program);
            command.arg(&file).current_dir(base.join("home/work")).env_clear();
            command.env("HOME", base.join("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
            if caller != own {
                command.gid(caller).uid(caller);
            }
            let done = loop {
                match command.output() {
                    // Another test's child may hold the descriptor the copy was written through, until it is
                    // executed.
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::sleep(A_MOMENT),
                    done => break done.unwrap(),
                }
            };
            let said = String::from_utf8_lossy(&done.stdout);
            let error = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{name} as {caller}: {said}{error}");
            check(&said, base);
        }
    }

    /// The examples lie beside the directory of this test's own program.
    fn built(name: &str) -> PathBuf {
        let own = std::env::current_exe().unwrap();
        let built = own.ancestors().nth(2).unwrap().join("examples").join(name);
        assert!(built.exists(), "{} is missing: build it with `cargo test -p stockade`", built.display());
        built
    }

    #[test]
    fn embed() {
        each_caller("embed", |said, base| {
            let (file, source) = (base.join("file"), base.join("home/work/src"));
            let expected = format!(
                "refused: Write {}: no allowWrite rule covers it\nexit code 0, in a sandbox: true\nhello, world, from {}\n",
                file.display(),
                source.display()
            );
            assert_eq!(said, expected);
        });
    }

    #[test]
    fn background() {
        each_caller("background", |said, _| {
            let expected = "ready\nworking on the first job\nover: true, exit code Some(143)\n";
            assert_eq!(said, expected);
        });
    }

    #[test]
    fn router() {
        each_caller("router", |said, _| {
            let expected = "/todo write tests (router): 1 to do\n/todo run them (router): 2 to do\n\
                            echo from the sandbox; touch /usr/mine (native): from the sandbox\n";
            assert_eq!(said, expected);
            assert!(!Path::new("/usr/mine").exists());
        });
    }

    /// It stands in the README, where nobody wants to read more.
    #[test]
    fn embed_is_short() {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/embed.rs")).unwrap();
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    }
}
