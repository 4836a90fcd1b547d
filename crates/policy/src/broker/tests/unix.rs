use super::{list, plan_with};
use crate::broker::powers;
use crate::testing::{load, request, usual_tree};
use crate::{Flags, Judge, Judgement, Layer, NoticeWeight, Shape, Switch, UnixSockets};
use std::path::Path;

fn is_free(judge: &Judge, paths: &[&str]) -> bool {
    let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
    match judge.unix_any(&paths) {
        Judgement::Free => true,
        Judgement::Refused(refusal) => {
            assert_eq!(refusal.grantable, Switch::Allowed);
            assert!(refusal.suggestion.unwrap().starts_with("--allow-unix /"));
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn sockets_by_file_and_directory() {
    let tree =
        usual_tree().files(&["/srv/db/s.sock", "/real/one.sock"]).link("/srv/alias.sock", "/real/one.sock");
    let flags = Flags {
        allow_unix: list(&["/srv/db", "/srv/alias.sock", "./later.sock", "/run/user/1000"]),
        ..Flags::default()
    };
    let plan = plan_with(flags, &tree);
    assert_eq!(plan.syscalls.unix_sockets, UnixSockets::Judged);
    let judge = Judge::new(&plan);
    for (path, free) in [
        ("/srv/db/s.sock", true),
        ("/srv/db/new/x.sock", true),
        ("/real/one.sock", true),
        ("/ws/later.sock", true),
        ("/run/user/1000/app.sock", true),
        ("/tmp/x.sock", true),
        ("/dev/shm/x.sock", true),
        ("/dev/log", false),
        ("/srv/dbx", false),
        ("/srv/other.sock", false),
        ("/ws/x.sock", false),
        // Not opened by a directory.
        ("/run/user/1000/bus", false),
        ("/run/user/1000/systemd/private", false),
        ("/run/user/1000/docker.sock", false),
        ("/run/user/1000/gnupg/S.gpg-agent", false),
        ("/run/user/1000/wayland-0", false),
    ] {
        assert_eq!(is_free(&judge, &[path]), free, "{path}");
    }
}

#[test]
fn the_powerful_are_listed_one_by_one_and_told_about() {
    let tree = usual_tree().directory("/run").link("/var/run", "/run").file("/run/docker.sock");
    let flags = Flags { allow_unix: list(&["/var/run/docker.sock", "/run"]), ..Flags::default() };
    let plan = plan_with(flags, &tree);
    let told = plan.notices.iter().filter(|notice| notice.weight == NoticeWeight::Warning);
    let told: Vec<&str> = told.map(|notice| notice.text.as_str()).collect();
    assert!(
        matches!(told.as_slice(), [one] if one.contains("/var/run/docker.sock (--allow-unix) gives commands containers")),
        "{told:?}"
    );
    let judge = Judge::new(&plan);
    assert!(is_free(&judge, &["/run/docker.sock"]));
    assert!(is_free(&judge, &["/var/run/docker.sock", "/run/docker.sock"]));
    assert!(!is_free(&judge, &["/run/podman/podman.sock"]));
    // Whatever it is called here, it is what its listener called it.
    assert!(!is_free(&judge, &["/run/harmless.sock", "/run/containerd/containerd.sock"]));
    assert!(!is_free(&judge, &["/tmp/harmless.sock", "/run/podman/podman.sock"]));
    assert!(is_free(&judge, &["/run/harmless.sock", "/elsewhere/bound.sock"]));
}

#[test]
fn a_host_directory_inside_a_private_one_is_not_private() {
    let tree = usual_tree().files(&["/tmp/work/x"]);
    let judge =
        Judge::new(&plan_with(Flags { allow_write: list(&["/tmp/work"]), ..Flags::default() }, &tree));
    assert!(is_free(&judge, &["/tmp/x.sock"]));
    assert!(!is_free(&judge, &["/tmp/work/x.sock"]));
    // Its own server, under the name of somebody's.
    assert!(is_free(&judge, &["/tmp/.X11-unix/X0"]));
}

#[test]
fn all_means_all_and_a_project_may_list_none() {
    let plan = |layer, text: &str| {
        let policy = load(&usual_tree(), layer, Shape::Native, text).unwrap();
        policy.plan(&request(), &usual_tree()).unwrap()
    };
    let all = plan(Layer::User, r#"{"network": {"allowAllUnixSockets": true}}"#);
    assert!(is_free(&Judge::new(&all), &["/run/docker.sock"]));
    let listed = r#"{"network": {"allowUnixSockets": ["/srv/x.sock"]}}"#;
    assert!(is_free(&Judge::new(&plan(Layer::User, listed)), &["/srv/x.sock"]));
    assert!(!is_free(&Judge::new(&plan(Layer::Project, listed)), &["/srv/x.sock"]));
    assert_eq!(plan(Layer::User, "{}").syscalls.unix_sockets, UnixSockets::Judged);
}

#[test]
fn sockets_are_named_and_not_matched() {
    for text in ["/run/*.sock", "{a,b}", ""] {
        let text = format!(r#"{{"network": {{"allowUnixSockets": ["{text}"]}}}}"#);
        let errors = load(&usual_tree(), Layer::User, Shape::Native, &text).unwrap_err();
        assert!(errors.to_string().contains("network.allowUnixSockets[0]"), "{errors}");
    }
}

#[test]
fn what_known_sockets_give_away() {
    for (path, word) in [
        ("/run/user/1000/bus", "session"),
        ("/run/dbus/system_bus_socket", "service"),
        ("/run/systemd/private", "services"),
        ("/run/systemd/journal/socket", "log"),
        ("/run/systemd/notify", "service manager"),
        ("/var/run/docker.sock", "containers"),
        ("/run/containerd/containerd.sock", "containers"),
        ("/run/user/1000/podman/podman.sock", "containers"),
        ("/run/crio/crio.sock", "containers"),
        ("/run/libvirt/libvirt-sock", "virtual machines"),
        ("/home/me/.gnupg/S.gpg-agent.extra", "signatures"),
        ("/tmp/ssh-AbCd/agent.12", "logins"),
        ("/tmp/tmux-1000/default", "keyboard"),
        ("/run/screen/S-me/1.tty", "keyboard"),
        ("/tmp/.X11-unix/X0", "screen"),
    ] {
        let power = powers::of(path.as_ref()).unwrap_or_else(|| panic!("{path}"));
        assert!(power.gives.contains(word), "{path}: {}", power.gives);
    }
    for path in ["/run/postgresql/.s.PGSQL.5432", "/srv/bus", "/run", "/"] {
        assert!(powers::of(path.as_ref()).is_none(), "{path}");
    }
}
