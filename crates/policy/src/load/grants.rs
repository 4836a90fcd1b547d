//! Putting permissions that were given earlier on top of everything but the organisation's rules.

use super::Draft;
use crate::domain::DomainPattern;
use crate::inputs::{Granted, GrantedList};
use crate::network::{DomainRule, SocketRule};
use crate::rules::{List, Place, Rule, SourceId};
use crate::{Layer, NetLimits, RuleRef};

impl Draft {
    pub(super) fn apply_grants(&mut self, grants: &[Granted]) {
        for grant in grants {
            let source = self.policy.book.source(Layer::Grant, format!("grant {}", grant.id));
            let text = grant.path.display().to_string();
            let list = match grant.list {
                GrantedList::Read => List::AllowRead,
                GrantedList::Write => List::AllowWrite,
                GrantedList::Unix => {
                    let origin = self.policy.book.origin(source, "");
                    let rule = RuleRef { text: format!("allowUnixSockets {text}"), origin };
                    self.policy.network.unix_sockets.push(SocketRule { path: grant.path.clone(), rule });
                    continue;
                }
                GrantedList::Domain => {
                    self.grant_domain(&text, source);
                    continue;
                }
            };
            // Not read as a pattern: the path is what a command was refused, letter by letter.
            self.policy.book.add(Rule {
                list,
                place: Place::Literal(grant.path.clone()),
                text: text.into(),
                source,
                key: None,
            });
        }
    }

    /// A host somebody said yes to. One that is no rule any more is left out: nothing is opened by a mistake.
    fn grant_domain(&mut self, text: &str, source: SourceId) {
        match DomainPattern::parse_allowed(text) {
            Ok(pattern) => {
                let origin = self.policy.book.origin(source, "");
                let rule = RuleRef { text: format!("allowedDomains {text}"), origin };
                let limits = NetLimits::default();
                self.policy.network.allowed.push(DomainRule { pattern, reason: None, limits, rule });
            }
            Err(error) => self.warn(format!("{} is left out: {error}", self.policy.book.source_name(source))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inputs, settings_file, usual_tree};
    use crate::{Flags, Inputs, Policy, Shape};
    use std::path::Path;

    fn granted(list: GrantedList, path: &str) -> Granted {
        Granted { list, path: path.into(), id: "g1".into() }
    }

    #[test]
    fn a_grant_opens_its_path_and_says_so() {
        let tree = usual_tree().files(&["/home/me/.aws/credentials", "/home/me/.aws/[x]", "/srv/data/f"]);
        let grants = vec![
            granted(GrantedList::Read, "/home/me/.aws/[x]"),
            granted(GrantedList::Write, "/srv/data"),
            granted(GrantedList::Unix, "/run/s"),
        ];
        let flags = Flags { grants, ..Flags::default() };
        let policy = Policy::load(Inputs { flags, ..inputs() }, &tree).unwrap();
        let explained = |path: &str| policy.explain(Path::new(path), &tree).unwrap();
        assert!(explained("/home/me/.aws/[x]").read.allowed);
        assert!(!explained("/home/me/.aws/credentials").read.allowed);
        let write = explained("/srv/data/f").write;
        assert!(write.allowed);
        assert_eq!(write.rule.unwrap().to_string(), "allowWrite /srv/data (grant g1)");
        assert_eq!(policy.network().unix_sockets[0].rule.to_string(), "allowUnixSockets /run/s (grant g1)");
    }

    #[test]
    fn managed_rules_stand() {
        let text = r#"{"filesystem": {"denyRead": ["/srv/data"], "denyWrite": ["/srv/out"]}}"#;
        let tree = usual_tree().files(&["/srv/data/f", "/srv/out/f"]).text("/settings.json", text);
        let grants =
            vec![granted(GrantedList::Read, "/srv/data/f"), granted(GrantedList::Write, "/srv/out/f")];
        let flags = Flags { grants, ..Flags::default() };
        let settings = vec![settings_file(Layer::Managed, Shape::Native)];
        let policy = Policy::load(Inputs { flags, settings, ..inputs() }, &tree).unwrap();
        assert!(!policy.explain(Path::new("/srv/data/f"), &tree).unwrap().read.allowed);
        assert!(!policy.explain(Path::new("/srv/out/f"), &tree).unwrap().write.allowed);
    }
}
