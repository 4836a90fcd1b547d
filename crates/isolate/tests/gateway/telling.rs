//! What is refused, who did it, and what is asked.

use crate::support::*;
use std::sync::Arc;
use stockade_isolate::DoorSocketKind;
use stockade_policy::{Event, NetworkPlan, Reply, Switch, ViolationKind};

#[tokio::test]
async fn a_refusal_at_the_gateway_is_the_commands_and_names_its_process() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let mut doors = sandbox.doors();
    let [door, _] = take(&mut doors, DoorSocketKind::Transparent).try_into().unwrap();
    let (door, teller) = (listener(door), sandbox.teller());
    let running = sandbox.exec(doing("connect 1.2.3.9:443", dir.path())).await.unwrap();
    let pid = running.pid();
    let refusing = async {
        let (stream, peer) = door.accept().await.unwrap();
        let destination = Some("1.2.3.9:443".parse().unwrap());
        for subject in ["example.org:443", "again"] {
            let mut note = note(subject);
            (note.peer, note.destination) = (Some(peer), destination);
            teller.refused(note);
        }
        stream.set_zero_linger().unwrap();
    };
    let ((said, outcome, events), ()) = both(finish(running), refusing).await;
    assert_eq!((said, outcome.exit_code), (vec!["ConnectionReset".to_owned()], 8));
    let found = &outcome.violations[0];
    assert_eq!(
        (found.seq, found.kind, found.subject.as_str()),
        (1, ViolationKind::Connect, "example.org:443")
    );
    assert_eq!(found.pid, pid);
    let program = std::env::current_exe().unwrap();
    assert_eq!(found.program.as_deref(), program.to_str());
    assert_eq!((outcome.violations[1].pid, outcome.violations.len()), (pid, 2));
    assert_eq!((outcome.blocked, outcome.blocked_resource.as_deref()), (true, Some("again")));
    assert!(events.contains(&Event::Violation(found.clone())));
    sandbox.destroy().await;
}

#[tokio::test]
async fn a_flood_of_refusals_is_counted() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let mut running = sandbox.exec(doing("sleep", dir.path())).await.unwrap();
    assert!(matches!(running.next().await, Some(Event::Started { .. })));
    for _ in 0..500 {
        sandbox.teller().refused(note("x:1"));
    }
    running.cancel(9);
    let (_, outcome, _) = finish(running).await;
    assert_eq!((outcome.violations.len(), outcome.more_violations), (100, 400));
    assert_eq!(outcome.violations[0].pid, 0);
    sandbox.destroy().await;
}

#[tokio::test]
async fn an_address_nobody_allowed_is_refused_before_the_gateway_until_the_rules_change() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(Default::default()))).await;
    let mut doors = sandbox.doors();
    let [door, _] = take(&mut doors, DoorSocketKind::Transparent).try_into().unwrap();
    let running = sandbox.exec(doing("connect 1.2.3.9:443", dir.path())).await.unwrap();
    let pid = running.pid();
    let (said, outcome, _) = finish(running).await;
    assert_eq!((said, outcome.exit_code), (vec!["ConnectionRefused".to_owned()], 7));
    let [violation] = outcome.violations.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((violation.kind, violation.subject.as_str()), (ViolationKind::Connect, "1.2.3.9:443"));
    assert_eq!(violation.pid, pid);
    sandbox.teller().changed(Arc::new(open()));
    let door = listener(door);
    let closing = async { drop(door.accept().await.unwrap()) };
    let act = run(&sandbox, "connect 1.2.3.9:443", dir.path());
    let ((_, outcome), ()) = both(act, closing).await;
    assert_eq!((outcome.exit_code, outcome.violations.len()), (0, 0));
    sandbox.destroy().await;
}

#[tokio::test]
async fn a_question_is_the_commands_to_answer_and_ends_with_the_sandbox() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let teller = sandbox.teller();
    assert_eq!(teller.ask(note("nobody:1")).await, Reply::Deny);
    let mut running = sandbox.exec(doing("sleep", dir.path())).await.unwrap();
    let mut known = Vec::new();
    for reply in [Reply::Session, Reply::Deny] {
        let answering = async {
            loop {
                if let Some(Event::Ask(ask)) = running.next().await {
                    assert!(ask.id < 1 << 53);
                    // Whoever knows one does not know the next.
                    assert!(known.iter().all(|before| ask.id.abs_diff(*before) > 1));
                    known.push(ask.id);
                    assert_eq!(ask.violation.subject, "example.org:443");
                    return running.reply(ask.id, reply);
                }
            }
        };
        let (answer, ()) = both(teller.ask(note("example.org:443")), answering).await;
        assert_eq!(answer, reply);
    }
    let ending = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        sandbox.destroy().await;
    };
    let (answer, ()) = both(teller.ask(note("late:1")), ending).await;
    assert_eq!(answer, Reply::Deny);
    let (_, outcome, _) = finish(running).await;
    assert_eq!(outcome.violations.len(), 1, "{outcome:?}");
    assert_eq!(teller.ask(note("later:1")).await, Reply::Deny);
}

#[tokio::test]
async fn a_question_nobody_can_answer_any_more_is_a_no() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let running = sandbox.exec(doing("sleep", dir.path())).await.unwrap();
    let teller = sandbox.teller();
    let asking = teller.ask(note("x:1"));
    let ending = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        running.cancel(9);
        finish(running).await
    };
    let (answer, _) = both(asking, ending).await;
    assert_eq!(answer, Reply::Deny);
    sandbox.destroy().await;
}

#[tokio::test]
async fn without_any_network_attempts_are_recorded() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), NetworkPlan::Loopback)).await;
    let (said, outcome) = run(&sandbox, "connect 1.2.3.9:443", dir.path()).await;
    assert_eq!(said, ["NetworkUnreachable"]);
    let [violation] = outcome.violations.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((violation.kind, violation.subject.as_str()), (ViolationKind::Connect, "1.2.3.9:443"));
    assert!(violation.reason.contains("only its own loopback"), "{violation:?}");
    let (said, outcome) = run(&sandbox, "datagram 8.8.8.8:53", dir.path()).await;
    assert_eq!(said, ["ConnectionRefused"]);
    let [violation] = outcome.violations.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((violation.kind, violation.subject.as_str()), (ViolationKind::Resolve, "8.8.8.8:53"));
    let (_, outcome) = run(&sandbox, "own-loopback", dir.path()).await;
    assert_eq!((outcome.exit_code, outcome.violations.len()), (0, 0));
    sandbox.destroy().await;
}

#[tokio::test]
async fn what_may_be_asked_is_left_to_the_gateway() {
    let dir = scratch();
    let network = stockade_policy::GatewayPlan { asking: Switch::Allowed, ..Default::default() };
    let sandbox = create(plan(dir.path(), gateway(network))).await;
    let mut doors = sandbox.doors();
    let [door, _] = take(&mut doors, DoorSocketKind::Transparent).try_into().unwrap();
    let door = listener(door);
    let closing = async { drop(door.accept().await.unwrap()) };
    let act = run(&sandbox, "connect 1.2.3.9:443", dir.path());
    let ((_, outcome), ()) = both(act, closing).await;
    assert_eq!((outcome.exit_code, outcome.violations.len()), (0, 0));
    sandbox.destroy().await;
}
