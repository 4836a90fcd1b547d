//! Where settings files are looked for.

use crate::directories::Directories;
use crate::files::real_path;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use stockade_policy::{Layer, SettingsFile, Shape};

/// The organisation's settings, which only tighten.
pub const MANAGED_SETTINGS: &str = "/etc/stockade/managed.json";

/// The name of a project's settings file.
pub const PROJECT_SETTINGS: &str = ".stockade.json";

/// The same for one copy of the project, which nobody checks in. It may say no more than the other.
pub const LOCAL_SETTINGS: &str = ".stockade.local.json";

/// What an organisation tells Claude Code.
const CLAUDE_MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// The settings files of a project: those of the repositories the directory lies in, then its own.
pub fn project_settings(cwd: &Path, home: Option<&Path>) -> Vec<SettingsFile> {
    let names = [PROJECT_SETTINGS, LOCAL_SETTINGS];
    in_project(cwd, home, |directory| names.iter().map(|name| directory.join(name)).collect())
}

/// The settings files of the user.
pub(crate) fn user_settings(directories: &Directories) -> SettingsFile {
    SettingsFile::optional(directories.user_settings(), Layer::User)
}

/// The settings files of the organisation.
pub(crate) fn managed_settings() -> SettingsFile {
    SettingsFile::optional(MANAGED_SETTINGS, Layer::Managed)
}

/// Claude Code's settings files: the project's, the user's and the organisation's.
pub fn claude_settings(cwd: &Path, home: Option<&Path>) -> Vec<SettingsFile> {
    let names = [".claude/settings.json", ".claude/settings.local.json"];
    let mut files = in_project(cwd, home, |directory| {
        // In a home directory these are the user's own.
        let own = home.is_some_and(|home| home == directory);
        names.iter().filter(|_| !own).map(|name| directory.join(name)).collect()
    });
    files.extend(home.map(|home| SettingsFile::optional(home.join(".claude/settings.json"), Layer::User)));
    files.push(SettingsFile::optional(CLAUDE_MANAGED, Layer::Managed));
    files.into_iter().map(|file| file.in_shape(Shape::Claude)).collect()
}

fn in_project(cwd: &Path, home: Option<&Path>, names: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<SettingsFile> {
    let above = repositories(cwd, home);
    let directories = above.iter().map(PathBuf::as_path).chain([cwd]);
    directories.flat_map(names).map(|path| SettingsFile::optional(path, Layer::Project)).collect()
}

/// The roots of all repositories a directory lies in, outermost first, but for the directory itself. The
/// nearest one is not enough: a command can make another below it, and would be rid of what the outer says.
fn repositories(cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(real) = real_path(cwd) else { return Vec::new() };
    let home = home.and_then(|home| real_path(home).ok());
    // What lies above a home is nobody's project.
    let inside =
        |above: &&Path| home.as_deref().is_none_or(|home| *above == home || !home.starts_with(above));
    // Anybody can make a repository in /tmp; only the owner's own speaks for what lies below it.
    let owner = |path: &Path| fs::metadata(path).map(|found| found.uid()).ok();
    let owners = [owner(&real), Some(rustix::process::geteuid().as_raw())];
    let ours = |root: &Path| owner(root).is_some_and(|owner| owners.contains(&Some(owner)));
    let above = real.ancestors().take_while(inside).skip(1);
    let roots = above.filter(|above| above.join(".git").symlink_metadata().is_ok() && ours(above));
    let mut roots: Vec<PathBuf> = roots.map(Path::to_owned).collect();
    roots.reverse();
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: Vec<SettingsFile>) -> Vec<PathBuf> {
        files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn a_project_speaks_from_its_root_and_from_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        let (root, below) = (home.join("repo"), home.join("repo/a/b"));
        fs::create_dir_all(&below).unwrap();
        let own = [below.join(PROJECT_SETTINGS), below.join(LOCAL_SETTINGS)];
        assert_eq!(paths(project_settings(&below, Some(&home))), own);
        fs::create_dir(root.join(".git")).unwrap();
        let all = [[root.join(PROJECT_SETTINGS), root.join(LOCAL_SETTINGS)], own].concat();
        assert_eq!(paths(project_settings(&below, Some(&home))), all);
        let here = [root.join(PROJECT_SETTINGS), root.join(LOCAL_SETTINGS)];
        assert_eq!(paths(project_settings(&root, Some(&home))), here);
    }

    #[test]
    fn a_repository_that_was_made_below_does_not_silence_the_outer_one() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        let below = home.join("repo/a/b");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(home.join("repo/.git")).unwrap();
        let of = |directory: &Path| [directory.join(PROJECT_SETTINGS), directory.join(LOCAL_SETTINGS)];
        let before = [of(&home.join("repo")), of(&below)].concat();
        fs::create_dir(below.join(".git")).unwrap();
        assert_eq!(paths(project_settings(&below, Some(&home))), before);
        fs::create_dir(home.join("repo/a/.git")).unwrap();
        let all = [of(&home.join("repo")), of(&home.join("repo/a")), of(&below)].concat();
        assert_eq!(paths(project_settings(&below, Some(&home))), all);
        let claude = paths(claude_settings(&below, Some(&home)));
        assert_eq!(claude[0], home.join("repo/.claude/settings.json"));
    }

    #[test]
    fn nothing_above_a_home_is_a_project() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        let home = top.join("home");
        fs::create_dir_all(home.join("ws")).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(project_settings(&home.join("ws"), Some(&home)).len(), 2);
        assert_eq!(project_settings(&home.join("ws"), None).len(), 4);
    }

    #[test]
    fn a_home_is_no_project_of_claude() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        let files = claude_settings(&home, Some(&home));
        let layers: Vec<Layer> = files.iter().map(|file| file.layer).collect();
        assert_eq!(layers, [Layer::User, Layer::Managed]);
        assert!(files.iter().all(|file| file.shape == Shape::Claude));
    }
}
