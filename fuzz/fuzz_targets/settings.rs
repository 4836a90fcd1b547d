//! Any bytes as a settings file, in both shapes: an error or a policy, never a panic, and never a policy
//! that lets the home directory or Stockade's own files be written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use stockade_policy::{
    BareWish, Chooser, CommandLine, Consent, FileKind, Files, Flags, Identity, Inputs, Layer, OwnPaths,
    Policy, Request, SettingsFile, Shape, Walls,
};

/// A few directories and one settings file.
struct OneFile<'a>(&'a [u8]);

const DIRECTORIES: [&str; 8] = ["/", "/home", "/home/me", "/home/me/own", "/ws", "/ws/src", "/tmp", "/etc"];
const SETTINGS: &str = "/etc/settings.json";

impl Files for OneFile<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new(SETTINGS) { Ok(self.0.to_vec()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let known = DIRECTORIES.iter().position(|known| path == Path::new(known));
        match known {
            Some(number) => Ok(Identity { dev: 1, ino: number as u64, kind: FileKind::Directory }),
            None if path == Path::new(SETTINGS) => Ok(Identity { dev: 1, ino: 99, kind: FileKind::File }),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.look(path).map(|_| path.to_owned())
    }

    fn follow(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        let inside = DIRECTORIES.iter().map(Path::new).filter(|known| known.parent() == Some(path));
        Ok(inside.filter_map(|known| Some((known.file_name()?.to_owned(), FileKind::Directory))).collect())
    }
}

fn inputs(layer: Layer, shape: Shape) -> Inputs {
    Inputs {
        cwd: "/ws".into(),
        home: Some("/home/me".into()),
        environment: vec![("WORD".into(), "w".into())],
        own: OwnPaths { config: "/home/me/own".into(), ..OwnPaths::default() },
        preset: None,
        settings: vec![SettingsFile::named(SETTINGS, layer).in_shape(shape)],
        flags: Flags::default(),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let files = OneFile(bytes);
    for (layer, shape) in [
        (Layer::User, Shape::Native),
        (Layer::Project, Shape::Native),
        (Layer::Flag, Shape::Srt),
        (Layer::User, Shape::Claude),
        (Layer::Project, Shape::Claude),
        (Layer::User, Shape::Simple),
    ] {
        let policy = match Policy::load(inputs(layer, shape), &files) {
            Ok(policy) => policy,
            Err(errors) => {
                assert!(!errors.0.is_empty() && !errors.to_string().is_empty());
                continue;
            }
        };
        let request = Request {
            command: CommandLine::Argv(vec!["true".into()]),
            cwd: "/ws".into(),
            environment: Vec::new(),
            bare: BareWish::Bare,
            walls: Walls::Standing,
            consent: Consent::Missing,
            chosen_by: Chooser::Caller,
        };
        policy.decide(&request, &files);
        let planned = policy.plan(&request, &files);
        let own = policy.explain(Path::new("/home/me/own"), &files);
        assert!(own.is_ok_and(|told| !told.write.allowed && !told.read.allowed));
        if layer == Layer::Project {
            let home = policy.explain(Path::new("/home/me"), &files);
            assert!(home.is_ok_and(|told| !told.write.allowed));
            assert!(planned.is_ok());
        }
    }
});
