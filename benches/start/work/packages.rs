//! Installing a package that lies on this machine.

use super::Task;
use crate::columns::{Caller, answer, words};
use crate::grounds::{Grounds, write};
use anyhow::{Context, Result};
use std::process::Command;

/// Of the project it is installed in.
const MANIFEST: &str = "{\"name\": \"app\", \"version\": \"1.0.0\"}\n";

pub(super) fn npm(grounds: &Grounds, files: usize) -> Result<Task> {
    let package = grounds.store("npm-package")?;
    write(
        &package.join("package.json"),
        "{\"name\": \"local\", \"version\": \"1.0.0\", \"main\": \"f0.js\"}\n",
    )?;
    for number in 0..files {
        let text = format!("module.exports = () => {number};\n").repeat(5);
        write(&package.join(format!("f{number}.js")), &text)?;
    }
    // Packed and unpacked; without the option it would be a symbolic link.
    let mut argv =
        words(&["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "--install-links"]);
    argv.push(package.into());
    Ok(Task {
        argv,
        ready: |top| write(&top.join("package.json"), MANIFEST),
        made: format!("node_modules/local/f{}.js", files - 1).into(),
    })
}

/// Packs a wheel with nothing but what Python brings along.
const PACK: &str = "
import sys, zipfile
path, count = sys.argv[1], int(sys.argv[2])
info = 'local-1.0.dist-info'
with zipfile.ZipFile(path, 'w') as wheel:
    wheel.writestr('local/__init__.py', '')
    for number in range(count):
        wheel.writestr(f'local/m{number}.py', f'def f(x):\\n    return x + {number}\\n' * 5)
    wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\\nName: local\\nVersion: 1.0\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')
";

pub(super) fn pip(caller: &Caller, grounds: &Grounds, files: usize) -> Result<Task> {
    // The interpreter itself: what a version manager puts on the PATH is a shell script.
    let python = answer(Command::new("python3").args(["-c", "import sys, pip; print(sys.executable)"]));
    let python = python.context("there is no Python with pip")?;
    let wheel = grounds.store("wheel")?.join("local-1.0-py3-none-any.whl");
    let mut pack = words(&[&python, "-c", PACK]);
    pack.extend([wheel.clone().into(), files.to_string().into()]);
    caller.set_up(&grounds.place()?, &pack)?;
    let mut argv = words(&[&python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    argv.extend(words(&["--disable-pip-version-check", "--root-user-action=ignore", "--prefix", "site"]));
    argv.push(wheel.into());
    // Where in it the modules lie depends on the interpreter.
    Ok(Task { argv, ready: |_| Ok(()), made: "site".into() })
}
