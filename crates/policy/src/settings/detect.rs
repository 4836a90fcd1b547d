//! Whose format a settings file has, told by its keys.

use super::error::{SettingsError, SettingsErrors};
use super::jsonc;
use crate::inputs::{SettingsFile, Shape};
use crate::{Files, Layer};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Keys that only one shape has at the top of its files.
const MARKS: [(Shape, &[&str]); 4] = [
    (
        Shape::Native,
        &[
            "preset",
            "engine",
            "environment",
            "limits",
            "requireLayers",
            "audit",
            "violations",
            "commands",
            "excludedCommands",
            "enabledPlatforms",
            "failIfUnavailable",
            "autoAllowBashIfSandboxed",
            "allowUnsandboxedCommands",
        ],
    ),
    (
        Shape::Srt,
        &[
            "ignoreViolations",
            "enableWeakerNestedSandbox",
            "enableWeakerNetworkIsolation",
            "allowAppleEvents",
            "allowPty",
            "mandatoryDenySearchDepth",
            "ripgrep",
            "seccomp",
            "bwrapPath",
            "socatPath",
            "javaAgentJarPath",
            "windows",
            "git",
        ],
    ),
    (
        Shape::Claude,
        &[
            "sandbox",
            "permissions",
            "hooks",
            "env",
            "model",
            "statusLine",
            "apiKeyHelper",
            "enabledPlugins",
            "outputStyle",
            "cleanupPeriodDays",
            "includeCoAuthoredBy",
            "enableAllProjectMcpServers",
            "enabledMcpjsonServers",
            "disabledMcpjsonServers",
        ],
    ),
    (Shape::Simple, &["policy", "providerOptions"]),
];

/// Marks one level deeper: an object, and a key of it.
const DEEP_MARKS: [(Shape, &str, &str); 8] = [
    (Shape::Srt, "filesystem", "disabled"),
    (Shape::Srt, "filesystem", "allowGitConfig"),
    (Shape::Native, "filesystem", "readScope"),
    (Shape::Native, "filesystem", "protection"),
    (Shape::Native, "filesystem", "temporary"),
    (Shape::Native, "filesystem", "caches"),
    (Shape::Native, "network", "requests"),
    (Shape::Native, "network", "allowPublicHosts"),
];

impl Shape {
    /// The words people use for files of this shape.
    pub fn owner(self) -> &'static str {
        match self {
            Self::Native => "Stockade",
            Self::Srt => "srt",
            Self::Claude => "Claude Code",
            Self::Simple => "sandbox.json",
        }
    }

    /// The shape of a file with this content, by keys that only one shape has. What has none, or is no JSON at
    /// all, is taken for Stockade's own, whose reader says what is wrong with it.
    ///
    /// # Errors
    ///
    /// The keys, if they belong to several shapes.
    pub fn detect(path: &Path, content: &[u8]) -> Result<Self, SettingsError> {
        let text = jsonc::plain(&String::from_utf8_lossy(content));
        let Ok(Value::Object(keys)) = serde_json::from_str(&text) else { return Ok(Self::Native) };
        let found = marks(&keys);
        let mut shapes: Vec<Self> = Vec::new();
        for (shape, _) in &found {
            if !shapes.contains(shape) {
                shapes.push(*shape);
            }
        }
        match shapes.as_slice() {
            [] => Ok(Self::Native),
            [only] => Ok(*only),
            _ => {
                let looks: Vec<String> =
                    found.iter().map(|(shape, key)| format!("{key} ({})", shape.owner())).collect();
                Err(SettingsError::Ambiguous { path: path.to_owned(), looks: looks.join(", ") })
            }
        }
    }
}

impl SettingsFile {
    /// A file somebody named, whose shape its keys tell.
    ///
    /// # Errors
    ///
    /// If its keys belong to several shapes. What else is wrong is told when a policy is made from it.
    pub fn detected(
        path: impl Into<PathBuf>,
        layer: Layer,
        files: &dyn Files,
    ) -> Result<Self, SettingsErrors> {
        let file = Self::named(path, layer);
        let shape = match files.read(&file.path) {
            Ok(content) => {
                Shape::detect(&file.path, &content).map_err(|error| SettingsErrors(vec![error]))?
            }
            Err(_) => Shape::Native,
        };
        Ok(file.in_shape(shape))
    }
}

fn marks(keys: &Map<String, Value>) -> Vec<(Shape, String)> {
    let top = MARKS.iter().flat_map(|(shape, names)| {
        names.iter().filter(|name| keys.contains_key(**name)).map(|name| (*shape, (*name).to_owned()))
    });
    let deep = DEEP_MARKS.iter().filter_map(|(shape, object, name)| {
        keys.get(*object)?.get(name)?;
        Some((*shape, format!("{object}.{name}")))
    });
    top.chain(deep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_the_shape() {
        for (text, expected) in [
            ("{}", Shape::Native),
            (r#"{"preset": "strict"}"#, Shape::Native),
            (r#"{"filesystem": {"allowWrite": ["/x"]}}"#, Shape::Native),
            (r#"{"enabled": true, "provider": "local"}"#, Shape::Native),
            (r#"{"network": {"allowedDomains": []}, "ignoreViolations": {}}"#, Shape::Srt),
            (r#"{"filesystem": {"allowGitConfig": true}}"#, Shape::Srt),
            (r#"{"permissions": {"deny": []}, "model": "x"}"#, Shape::Claude),
            (
                r#"// comment
               {"sandbox": {"enabled": true}, }"#,
                Shape::Claude,
            ),
            (r#"{"enabled": true, "policy": {}}"#, Shape::Simple),
            ("not json", Shape::Native),
            ("[1]", Shape::Native),
        ] {
            assert_eq!(Shape::detect(Path::new("/f"), text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn two_shapes_at_once_are_no_shape() {
        let text = br#"{"preset": "strict", "permissions": {}}"#;
        let error = Shape::detect(Path::new("/f"), text).unwrap_err().to_string();
        assert!(error.contains("preset (Stockade), permissions (Claude Code)"), "{error}");
    }
}
