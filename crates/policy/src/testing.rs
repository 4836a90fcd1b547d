//! Files that exist only in a test.

use crate::{
    BareWish, Caller, Chooser, CommandLine, Consent, FileKind, Files, Flags, Identity, Inputs, Layer,
    OwnPaths, Policy, Request, SettingsErrors, SettingsFile, Shape, Walls,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

#[derive(Clone, Debug)]
enum Node {
    File(Vec<u8>),
    Directory,
    Link(PathBuf),
    /// Exists and gives this error when it is read or listed.
    Broken(io::ErrorKind),
}

impl Node {
    fn kind(&self) -> FileKind {
        match self {
            Self::Directory | Self::Broken(io::ErrorKind::PermissionDenied) => FileKind::Directory,
            Self::Link(_) => FileKind::Symlink,
            Self::File(_) | Self::Broken(_) => FileKind::File,
        }
    }
}

/// A made-up file system.
#[derive(Clone, Debug)]
pub(crate) struct Tree(BTreeMap<PathBuf, Node>, Caller);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::from([("/".into(), Node::Directory)]), Caller::Ordinary)
    }

    fn put(mut self, path: &str, node: Node) -> Self {
        for above in Path::new(path).ancestors().skip(1) {
            self.0.entry(above.to_owned()).or_insert(Node::Directory);
        }
        self.0.insert(path.into(), node);
        self
    }

    pub(crate) fn for_root(self) -> Self {
        Self(self.0, Caller::Root)
    }

    pub(crate) fn file(self, path: &str) -> Self {
        self.put(path, Node::File(Vec::new()))
    }

    pub(crate) fn text(self, path: &str, text: &str) -> Self {
        self.put(path, Node::File(text.as_bytes().to_vec()))
    }

    pub(crate) fn files(self, paths: &[&str]) -> Self {
        paths.iter().fold(self, |tree, path| tree.file(path))
    }

    pub(crate) fn directory(self, path: &str) -> Self {
        self.put(path, Node::Directory)
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        self.put(path, Node::Link(target.into()))
    }

    pub(crate) fn broken(self, path: &str, error: io::ErrorKind) -> Self {
        self.put(path, Node::Broken(error))
    }

    /// Every path of the tree that is not a link.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.0
            .iter()
            .filter(|(_, node)| !matches!(node, Node::Link(_)))
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn walk(&self, path: &Path, links: usize) -> io::Result<PathBuf> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        if links > 20 {
            return Err(io::Error::other("too many links"));
        }
        let mut at = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::Normal(name) => {
                    at.push(name);
                    match self.0.get(&at).ok_or_else(missing)? {
                        Node::Link(target) => {
                            let target = at.parent().ok_or_else(missing)?.join(target);
                            at = self.walk(&target, links + 1)?;
                        }
                        _ => continue,
                    }
                }
                Component::ParentDir => {
                    at.pop();
                }
                _ => {}
            }
        }
        Ok(at)
    }
}

impl Files for Tree {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match &self.0[&self.walk(path, 0)?] {
            Node::File(bytes) => Ok(bytes.clone()),
            Node::Broken(error) => Err((*error).into()),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn caller(&self) -> Caller {
        self.1
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let place = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.walk(parent, 0)?.join(name),
            _ => self.walk(path, 0)?,
        };
        let number = self.0.keys().position(|known| *known == place).ok_or(io::ErrorKind::NotFound)?;
        Ok(Identity { dev: 1, ino: number as u64, kind: self.0[&place].kind() })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.walk(path, 0)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        let place = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.walk(parent, 0)?.join(name),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        match self.0.get(&place) {
            Some(Node::Link(target)) => Ok(PathBuf::from(target)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Files with a text are no programs here, but for scripts.
    fn runs(&self, path: &Path) -> bool {
        self.read(path).is_ok_and(|bytes| bytes.is_empty() || bytes.starts_with(b"#!"))
    }

    fn beginning(&self, path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
        self.read(path).map(|mut content| {
            content.truncate(bytes);
            content
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        let place = self.walk(path, 0)?;
        if let Some(Node::Broken(error)) = self.0.get(&place) {
            return Err((*error).into());
        }
        // Paths are ordered by their parts: what is below the place follows it.
        let below = self.0.range(place.clone()..).skip(1).take_while(|(known, _)| known.starts_with(&place));
        Ok(below
            .filter(|(known, _)| known.parent() == Some(&place))
            .map(|(known, node)| (known.file_name().unwrap_or_default().to_owned(), node.kind()))
            .collect())
    }
}

/// A home and a workspace, and whatever a test adds.
pub(crate) fn usual_tree() -> Tree {
    ["/tmp", "/dev", "/proc", "/usr/bin", "/etc", "/home/me", "/ws"]
        .iter()
        .fold(Tree::new(), |tree, path| tree.directory(path))
}

/// Inputs for [`usual_tree`].
pub(crate) fn inputs() -> Inputs {
    Inputs {
        cwd: "/ws".into(),
        home: Some("/home/me".into()),
        environment: Vec::new(),
        own: OwnPaths {
            config: "/home/me/.config/stockade".into(),
            state: "/home/me/.local/state/stockade".into(),
            cache: "/home/me/.cache/stockade".into(),
            records: None,
            tool_cache: None,
            overlay: None,
            worked_in: Vec::new(),
        },
        preset: None,
        settings: Vec::new(),
        flags: Flags::default(),
    }
}

/// A settings file at `/settings.json`.
pub(crate) fn settings_file(layer: Layer, shape: Shape) -> SettingsFile {
    SettingsFile::named("/settings.json", layer).in_shape(shape)
}

/// A policy from one settings file with this text.
pub(crate) fn load(tree: &Tree, layer: Layer, shape: Shape, text: &str) -> Result<Policy, SettingsErrors> {
    let tree = tree.clone().text("/settings.json", text);
    Policy::load(Inputs { settings: vec![settings_file(layer, shape)], ..inputs() }, &tree)
}

/// A request in the usual workspace.
pub(crate) fn request() -> Request {
    Request {
        command: CommandLine::Argv(vec!["true".into()]),
        cwd: "/ws".into(),
        chosen_by: Chooser::Caller,
        environment: Vec::new(),
        bare: BareWish::Sandboxed,
        walls: Walls::Standing,
        consent: Consent::Missing,
        kept: Vec::new(),
        at_work: Vec::new(),
    }
}
