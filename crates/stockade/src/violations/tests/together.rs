//! Several writers at once, and writers that are killed.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

const PROCESSES: usize = 4;
const THREADS: usize = 4;
const RUNS: usize = 10;

#[test]
fn processes_and_threads_write_at_once() {
    if let Some(store) = place_of_child() {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let store = store.clone();
                scope.spawn(move || {
                    for run in 0..RUNS {
                        let path = format!("/{}/{thread}/{run}", std::process::id());
                        record(&store, &[&path, &path, &path]);
                    }
                });
            }
        });
        return;
    }
    // No file yet: they also all begin at once.
    let place = tempfile::tempdir().unwrap();
    let test = "together::processes_and_threads_write_at_once";
    let start = || again(test, place.path()).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = ViolationStore::new(place.path());
    let found = subjects(&store, &Filter::default());
    assert_eq!(found.len(), PROCESSES * THREADS * RUNS * 3);
    for run in found.chunks(3) {
        assert!(run.iter().all(|subject| *subject == run[0]), "a run is one transaction: {run:?}");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(store) = place_of_child() {
        for number in 0.. {
            record(&store, &[&format!("/{number}/a"), &format!("/{number}/b")]);
            println!("stored {number}");
            std::io::stdout().flush().unwrap();
        }
    }
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    for round in 1..=5 {
        store.clear().unwrap();
        let mut child = again("together::what_was_acknowledged_survives_a_kill", place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        while acknowledged < round * 7 {
            acknowledged += usize::from(said.next().unwrap().unwrap().contains("stored "));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged += said.map_while(Result::ok).filter(|line| line.contains("stored ")).count();

        let found = subjects(&store, &Filter::default());
        assert!(found.len() >= acknowledged * 2 && found.len().is_multiple_of(2), "{acknowledged} {found:?}");
        for (index, subject) in found.iter().enumerate() {
            assert_eq!(*subject, format!("/{}/{}", index / 2, ["a", "b"][index % 2]));
        }
    }
}
