//! What a shell keeps from one command to the next, and what commands give back.

use crate::support::{World, sh};

#[tokio::test]
async fn state_is_kept() {
    let world = World::new();
    let session = world.open().await;
    let ran =
        sh(&session, "cd sub; x=1; export Y=2; f() { echo f $x; }; echo out; echo err >&2; false").await;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), ("out\n", "err\n", 1));
    let ran = sh(&session, "f; echo $Y; pwd").await;
    assert_eq!(ran.stdout, format!("f 1\n2\n{}\n", world.at("home/work/sub").display()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.captured.outcome.sandboxed);
    session.close().await;
    assert!(world.left().is_empty(), "{:?}", world.left());
}

/// Bash 5.2 ends at that where it reads its script from 0, which is where it is told what to do.
#[tokio::test]
async fn the_input_can_be_duplicated() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "f() { echo f; }; printf 'a\\nb\\n' > lines").await;
    for (text, out) in [
        ("exec 3<&0; cat <&3; exec 3<&-; echo over", "over\n"),
        ("cat lines | while read -r line <&4; do echo \"$line\"; done 4<&0", "a\nb\n"),
        ("exec 6<&0 0<lines; read -r line; exec 0<&6 6<&-; cat; echo \"$line\"", "a\n"),
        ("eval '{ cat <&5; } 5<&0'; (exec 7<&0; cat <&7); { cat <&8; } 8<&0 & wait; echo over", "over\n"),
        ("echo $(cat lines | { cat <&3; } 3<&0)", "a b\n"),
        ("exec 9<&0", ""),
        ("read -r line <&9; echo $?; exec 9<&-; f", "1\nf\n"),
        ("exec 3<&0-; f", "f\n"),
        (
            "trap '{ cat <&3; } 3<&0; trap - DEBUG' DEBUG; f; trap '{ cat <&3; } 3<&0' USR1; kill -USR1 $$; f",
            "f\nf\n",
        ),
    ] {
        let ran = sh(&session, text).await;
        assert_eq!(
            (ran.stdout.as_str(), ran.code, ran.restarted()),
            (out, 0, None),
            "{text}: {}",
            ran.stderr
        );
    }
}

/// They have bash leave everything it is in.
#[tokio::test]
async fn errors_that_end_a_text_end_it_at_once() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "f() { echo f; }").await;
    for text in [
        "declare -i n=08; echo no",
        "m=08; a=(1 2 3); echo \"${a[m]}\"; echo no",
        "a[1/0]=3; echo no",
        "g() { local -i x=1/0; echo no; }; g || echo no; echo no",
        "if true; then eval 'printf -v \"a[1/0]\" x'; fi; echo no",
        "read \"a[08]\" <<< x; echo no",
        "sleep 5 & declare -ia x=(1/0); echo no",
        "trap 'echo debug >&2' DEBUG; a[1/0]=3; echo no",
        "exec > elsewhere 2>&1; sleep 0.1; a[1/0]=3",
        "builtin() { :; }; a[1/0]=3; echo no",
        &format!("a[1/0]=3; echo no #{}", "x".repeat(500)),
    ] {
        let begun = std::time::Instant::now();
        let ran = sh(&session, text).await;
        let (out, errors) = (ran.stdout.as_str(), &ran.stderr);
        assert_eq!((out, ran.code, ran.restarted()), ("", 1, None), "{text}: {errors}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(3), "{text}");
        assert_eq!(sh(&session, "f").await.stdout, "f\n", "{text}");
    }
}

/// Those that bash would put aside somewhere between are the driver's business.
#[tokio::test]
async fn descriptors_are_the_texts_own() {
    let world = World::new();
    let session = world.open().await;
    for number in [3, 9, 10, 11, 12, 13, 14, 22, 23, 24, 25, 26, 27, 28, 39, 60, 99, 200, 255] {
        let text = format!(
            "exec {number}>log; echo here >&{number}; flock -n {number} && echo locked; exec {number}>&-; cat log"
        );
        let ran = sh(&session, &text).await;
        let (out, errors) = (ran.stdout.as_str(), &ran.stderr);
        assert_eq!((out, ran.code, ran.restarted()), ("locked\nhere\n", 0, None), "{text}: {errors}");
    }
    let ran =
        sh(&session, "for i in {3..39} {60..70}; do eval \"exec $i>&-\"; done; exec {own}>log; echo $own")
            .await;
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("10\n", None), "{}", ran.stderr);
    let ran = sh(&session, "echo kept >&$own; exec {own}>&-; cat log; ls /proc/self/fd").await;
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("kept\n0\n1\n2\n3\n", None), "{}", ran.stderr);
}
