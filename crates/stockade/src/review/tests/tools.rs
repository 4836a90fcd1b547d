//! What tools take code from, told by the few lines that matter, and programs that were there before.

use super::{Place, brief};
use std::fs;
use stockade_policy::ReviewItem;

/// What a review says of one file that was one thing and is another; nothing stands for no file.
fn told(path: &str, old: Option<&str>, new: &str) -> Vec<ReviewItem> {
    let place = Place::new();
    if let Some(old) = old {
        place.file(path, old);
    }
    let review = place.before();
    place.file(path, new);
    review.after()
}

#[test]
fn telling_lines_of_tools_settings() {
    let cargo = "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n";
    let project = "<Project>\n<PackageReference Include=\"A\" Version=\"1\" />\n</Project>\n";
    let terraform = "resource \"x\" \"y\" {\n  size = 1\n}\n";
    let add = |text: &str, more: &str| format!("{text}{more}");
    for (path, old, harmless, telling) in [
        ("Cargo.toml", cargo, cargo.replace("\"1\"", "\"2\""), add(cargo, "package.build=\"evil.rs\"\n")),
        ("a/Cargo.toml", cargo, add(cargo, "rand = \"1\"\n"), add(cargo, "[lib]\nproc-macro = true\n")),
        ("Cargo.toml", cargo, add(cargo, "[features]\n"), add(cargo, "[patch.crates-io]\n")),
        ("Cargo.toml", cargo, cargo.to_owned(), add(cargo, "\"b\\u0075ild\" = \"evil.rs\"\n")),
        (
            "a/b.csproj",
            project,
            project.replace("\"1\"", "\"2\""),
            project.replace("</P", "<Target Name=\"a\"><Exec Command=\"id\"/></Target></P"),
        ),
        (
            ".rubocop.yml",
            "Style/X:\n  Enabled: true\n",
            "Style/X:\n  Enabled: false\n".into(),
            "require:\n- ./evil\n".into(),
        ),
        ("mypy.ini", "[mypy]\nstrict = true\n", "[mypy]\n".into(), "[mypy]\nPLUGINS = evil.py\n".into()),
        (
            ".flake8",
            "[flake8]\nignore = E1\n",
            "[flake8]\nignore = E2\n".into(),
            "[flake8]\n[flake8:local-plugins]\nextension =\n  X = evil:x\n".into(),
        ),
        (
            "infra/main.tf",
            terraform,
            terraform.replace('1', "2"),
            add(terraform, "data \"external\" \"z\" {\n  program = [\"sh\", \"-c\", \"id\"]\n}\n"),
        ),
    ] {
        assert_eq!(told(path, Some(old), &harmless), [], "{path}");
        assert_eq!(brief(&told(path, Some(old), &telling)), [format!("BuildScript Changed {path}")]);
    }
}

#[test]
fn files_that_count_as_a_whole() {
    for (path, kind) in [
        ("pom.xml", "BuildScript"),
        ("build.xml", "BuildScript"),
        (".pryrc", "BuildScript"),
        ("nodemon.json", "BuildScript"),
        (".storybook/main.js", "BuildScript"),
        ("devbox.json", "ShellStart"),
        (".venv/bin/activate", "ShellStart"),
    ] {
        assert_eq!(brief(&told(path, None, "x")), [format!("{kind} New {path}")]);
        assert_eq!(brief(&told(path, Some("x"), "y")), [format!("{kind} Changed {path}")]);
    }
}

#[test]
fn an_environment_is_one_whatever_its_name() {
    let place = Place::new();
    place.file("myenv/pyvenv.cfg", "");
    place.file("myenv/bin/activate", "old");
    place.file("other/bin/activate", "old");
    let review = place.before();
    place.file("myenv/bin/activate", "new");
    place.file("other/bin/activate", "new");
    assert_eq!(brief(&review.after()), ["ShellStart Changed myenv/bin/activate"]);
}

#[test]
fn installed_packages_and_their_install_scripts() {
    let place = Place::new();
    let text = |scripts: &str| format!(r#"{{"version": "1", "scripts": {{{scripts}}}}}"#);
    place.file("node_modules/left/package.json", &text(r#""test": "a""#));
    place.file("node_modules/@a/right/package.json", &text(""));
    place.file("node_modules/left/test/package.json", &text(""));
    let review = place.before();
    place.file("node_modules/left/package.json", &text(r#""test": "b", "build": "c""#));
    // As some package managers install everything.
    place.link("../packages/own", "node_modules/own");
    place.file("packages/own/index.txt", "");
    assert_eq!(review.after(), []);
    place.file("node_modules/left/package.json", &text(r#""postinstall": "node x""#));
    place.file("node_modules/@a/right/package.json", &text(r#""install": "node y""#));
    place.file("node_modules/left/test/package.json", &text(r#""install": "node z""#));
    place.file("node_modules/new/node_modules/deep/package.json", &text(r#""preinstall": "p""#));
    let items = review.after();
    assert_eq!(
        brief(&items),
        [
            "PackageScript Changed node_modules/@a/right/package.json",
            "PackageScript Changed node_modules/left/package.json",
            "PackageScript New node_modules/new/node_modules/deep/package.json",
        ]
    );
    assert_eq!(items[1].detail, r#"new scripts.postinstall: "node x""#);
}

#[test]
fn programs_that_were_there_before() {
    let place = Place::new();
    let all = [
        "bin/tool",
        "run.sh",
        "scripts/go.py",
        "target/debug/tool",
        "a/build/run.sh",
        "node_modules/x/cli.js",
    ];
    for path in all {
        place.program(path, "#!/bin/sh\necho old");
    }
    place.program("gone", "#!/bin/sh");
    place.program("app", "\x7fELF one");
    place.program("turned", "#!/bin/sh");
    place.file("plain.sh", "old");
    place.file("LICENSE", "old");
    let review = place.before();
    // The same content, written anew.
    place.program("run.sh", "#!/bin/sh\necho old");
    fs::remove_file(place.top.join("gone")).unwrap();
    place.program("app", "\x7fELF two, which a build wrote");
    place.program("fresh.sh", "#!/bin/sh");
    place.file("plain.sh", "new");
    place.file("LICENSE", "new");
    assert_eq!(review.after(), []);
    for path in all {
        place.program(path, "#!/bin/sh\necho new");
    }
    place.program("turned", "\x7fELF");
    let items = review.after();
    assert_eq!(
        brief(&items),
        [
            "Program Changed bin/tool",
            "Program Changed run.sh",
            "Program Changed scripts/go.py",
            "Program Changed turned",
        ]
    );
    assert_eq!(items[3].detail, "is machine code now");
    place.program("app", "#!/bin/sh");
    assert_eq!(brief(&review.after())[0], "Program Changed app");
}

#[test]
fn large_programs_are_known_by_their_first_bytes() {
    let place = Place::new();
    let large = |first: &str, filling: &str| format!("{first}{}", filling.repeat(2 << 20));
    place.program("app", &large("\x7fELF", "a"));
    place.program("installer", &large("#!/bin/sh\n", "a"));
    let review = place.before();
    place.program("app", &large("\x7fELF", "b"));
    assert_eq!(review.after(), []);
    place.program("installer", &large("#!/bin/sh\n", "b"));
    assert_eq!(brief(&review.after()), ["Program Changed installer"]);
}

#[test]
fn modules_that_stand_before_pythons_own() {
    let place = Place::new();
    place.file("types.py", "old");
    let review = place.before();
    place.file("types.py", "new");
    place.file("src/pkg/json.py", "x");
    place.file("jason.py", "x");
    assert_eq!(review.after(), []);
    place.file("json.py", "x");
    place.file("scripts/subprocess.py", "x");
    assert_eq!(brief(&review.after()), ["BuildScript New json.py", "BuildScript New scripts/subprocess.py"]);
}
