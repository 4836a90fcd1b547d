//! Compiling a small program, with nothing compiled before.

use super::Task;
use crate::columns::words;
use crate::grounds::write;
use anyhow::Result;
use std::path::Path;

const PARTS: usize = 4;
/// Enough for the compiler to have something to do.
const FUNCTIONS: usize = 150;

pub(super) fn task() -> Result<Task> {
    let argv = words(&["cargo", "build", "--quiet", "--offline"]);
    Ok(Task { argv, ready: lay_out, made: "target/debug/app".into() })
}

fn lay_out(top: &Path) -> Result<()> {
    let parts: Vec<String> = (0..PARTS).map(|number| format!("part{number}")).collect();
    let needs: String =
        parts.iter().map(|part| format!("{part} = {{ path = \"vendor/{part}\" }}\n")).collect();
    // A workspace of its own: there may be a project in a directory above.
    let manifest = format!("{}[dependencies]\n{needs}[workspace]\n", package("app"));
    write(&top.join("Cargo.toml"), &manifest)?;
    write(&top.join("build.rs"), "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n")?;
    let sum: Vec<String> = parts.iter().map(|part| format!("{part}::all(3)")).collect();
    write(&top.join("src/main.rs"), &format!("fn main() {{ println!(\"{{}}\", {}); }}\n", sum.join(" + ")))?;
    for part in &parts {
        let directory = top.join("vendor").join(part);
        write(&directory.join("Cargo.toml"), &package(part))?;
        write(&directory.join("src/lib.rs"), &library())?;
    }
    Ok(())
}

fn package(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
}

fn library() -> String {
    let function = |number: usize| {
        format!(
            "#[derive(Clone, Debug, Default)]\npub struct S{number} {{ a: u64, b: Vec<String> }}\n\
             impl S{number} {{\n    pub fn step(&mut self, by: u64) -> u64 {{\n        self.a += by * {number};\n        \
             self.b.push(format!(\"{{}}-{{by}}\", self.a));\n        \
             self.b.iter().map(|text| text.len() as u64).sum::<u64>() + self.a\n    }}\n}}\n"
        )
    };
    let calls: String =
        (0..FUNCTIONS).map(|number| format!("    sum += S{number}::default().step(by);\n")).collect();
    let functions: String = (0..FUNCTIONS).map(function).collect();
    format!("{functions}pub fn all(by: u64) -> u64 {{\n    let mut sum = 0;\n{calls}    sum\n}}\n")
}
