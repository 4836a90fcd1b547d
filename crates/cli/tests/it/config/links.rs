//! Settings files that lie where commands write: behind links, under several names, and what settings name.

use super::user_file;
use crate::act;
use crate::support::{World, each_caller};
use std::fs;
use std::path::Path;

const TEXT: &str = r#"{"filesystem": {"denyRead": ["x.key"]}}"#;

/// Every way to change a file, and each is refused.
#[track_caller]
fn stays(world: &World, path: &Path) {
    let spare = world.file("spare", "{}");
    let answers = world.run().batch([
        act!["write", path],
        act!["append", path],
        act!["truncate", path],
        act!["unlink", path],
        act!["rename", &spare, path],
        act!["rename", path, path.with_extension("away")],
    ]);
    for answer in &answers {
        answer.errno(&["EROFS", "EBUSY", "EXDEV", "EACCES", "EPERM"]);
    }
}

#[test]
fn the_users_file_behind_links_stays_as_it_is() {
    each_caller(|world| {
        let file = world.file("dot/settings.json", TEXT);
        let between = world.link(&file, "dot/link.json");
        world.link(&between, user_file(world));
        stays(world, &file);
        stays(world, &between);
        // The directory, too: another one in its place would hold other settings.
        world.probe(act!["rename", world.ws.join("dot"), world.ws.join("away")]).errno(&["EBUSY"]);
        world.probe(act!["write", world.file("dot/free", "")]).ok();
        assert_eq!(fs::read_to_string(&file).expect("read"), TEXT);
    });
}

/// A link on the way to our own directories leads to settings, grants and records: another one would lead to others.
#[test]
fn links_on_the_way_to_our_own_directories_stay_as_they_are() {
    each_caller(|world| {
        let hops = [(".config", "stockade"), (".local", "state/stockade")].map(|(name, below)| {
            world.dir(format!("dots/real{name}/{below}"));
            let hop = world.link(format!("real{name}"), world.ws.join(format!("dots/hop{name}")));
            world.link(&hop, world.home.join(name));
            (name, hop)
        });
        world.give_all(&world.ws);
        for (name, hop) in hops {
            let script = format!("mkdir -p ev; ln -sfn ../ev '{0}'; rm -f '{0}'; mv '{0}' x", hop.display());
            let ran = world.run().shell(&script);
            assert_eq!(fs::read_link(&hop).expect("a link").to_str(), Some(&*format!("real{name}")), "{ran}");
            assert_ne!(ran.code(), 0, "{ran}");
        }
    });
}

#[test]
fn a_projects_file_behind_a_link_stays_as_it_is() {
    each_caller(|world| {
        let file = world.file("dot/project.json", TEXT);
        world.link(&file, ".stockade.json");
        world.link(&file, ".stockade.local.json");
        stays(world, &file);
    });
}

#[test]
fn settings_behind_a_link_that_leads_nowhere_are_an_error() {
    each_caller(|world| {
        for path in [user_file(world), world.ws.join(".stockade.json"), world.ws.join(".stockade.local.json")]
        {
            let link = world.link(world.ws.join("dot/gone.json"), &path);
            let told =
                [link.to_str().expect("text"), "leads nowhere", "dot/gone.json", "hint: put the file back"];
            world.run().shell("echo ran").refused_to_start(&told);
            fs::remove_file(link).expect("remove");
            world.run().shell("true").exits(0);
        }
    });
}

#[test]
fn settings_with_another_name_are_told_and_not_followed() {
    each_caller(|world| {
        let wide = r#"{"filesystem": {"denyRead": []}, "network": {"allowedDomains": ["b.test"]}}"#;
        world.file("wide.json", wide);
        let file = world.file(user_file(world), TEXT);
        fs::hard_link(&file, world.ws.join("alias.json")).expect("link");
        let ran = world.run().shell("cat wide.json > alias.json; sleep 3");
        ran.exits(0).complains(&[
            "hard links",
            file.to_str().expect("text"),
            "(2 names)",
            "remove those links",
        ]);
        ran.complains(&["has changed and is wrong; the settings from before hold", "names now"]);
    });
}

#[test]
fn certificates_that_settings_name_stay_as_they_are() {
    each_caller(|world| {
        let file = world.file("certificates/extra.pem", "");
        let text = r#"{"network": {"tlsTerminate": {"extraCaCertPaths": ["certificates/extra.pem"]}}}"#;
        world.file(user_file(world), text);
        stays(world, &file);
    });
}
