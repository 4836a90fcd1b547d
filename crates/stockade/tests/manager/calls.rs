//! What one call is asked and gives back.

use crate::world::{each_caller, run, works};
use std::fs;
use std::time::{Duration, Instant};
use stockade::{Event, ManagerError, ToolInput, Verdict, remove_violations};

#[test]
fn a_result_tells_everything() {
    each_caller(async |world| {
        let manager = world.manager();
        let done = run(&manager, "echo out; echo err >&2; exit 3").await;
        assert_eq!((done.stdout.as_str(), done.stderr.as_str(), done.exit_code), ("out\n", "err\n", 3));
        assert!(done.sandboxed && !done.blocked && !done.timed_out && !done.truncated);
        assert_eq!(done.kind, "native");
        assert!(done.permission_request.is_none() && done.background_id.is_none());

        let outside = world.outside("new");
        let refused = run(&manager, format!("mkdir {}", outside.display())).await;
        assert!(refused.blocked && refused.exit_code != 0);
        assert_eq!(refused.blocked_resource.as_deref(), outside.to_str());
        assert!(refused.blocked_reason.is_some());
        assert!(refused.stderr.contains("<sandbox_violations>\ndeny create "), "{}", refused.stderr);
        assert!(!remove_violations(&refused.stderr).contains("sandbox_violations"));
        assert!(!outside.exists());
    });
}

#[test]
fn a_call_is_ended_when_its_time_is_over() {
    each_caller(async |world| {
        let manager = world.manager();
        works(&run(&manager, "export KEPT=1").await);
        let begun = Instant::now();
        let input = ToolInput { timeout: Some(300), ..ToolInput::new("echo first; sleep 60; touch late") };
        let done = manager.execute(input).await.unwrap();
        assert!(done.timed_out, "{done:?}");
        assert_ne!(done.exit_code, 0);
        assert_eq!(done.stdout, "first\n");
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(works(&run(&manager, "echo $KEPT; ls").await), "1\n");

        let input = ToolInput { timeout: Some(600_001), ..ToolInput::new("touch late") };
        let error = manager.execute(input).await.unwrap_err();
        assert!(matches!(error, ManagerError::Input(_)), "{error:?}");
        assert!(error.to_string().contains("600000"), "{error}");
        assert!(!world.at("home/work/late").exists());
    });
}

#[test]
fn events_are_seen_as_they_come() {
    each_caller(async |world| {
        let manager = world.manager();
        let (mut output, mut refused) = (Vec::new(), 0);
        let input = ToolInput::new(format!("echo seen; mkdir {}", world.outside("new").display()));
        let watched = manager.execute_watched(input, |event| match event {
            Event::Stdout { data } => output.extend_from_slice(data),
            Event::Violation(_) => refused += 1,
            _ => {}
        });
        watched.await.unwrap();
        assert_eq!((output.as_slice(), refused), (&b"seen\n"[..], 1));
    });
}

#[test]
fn a_flood_is_cut() {
    each_caller(async |world| {
        let manager = world.manager();
        let done = run(&manager, "head -c 12000000 /dev/zero | tr '\\0' x").await;
        assert!(done.truncated);
        assert_eq!(done.stdout.len(), 10 * 1024 * 1024);
        assert_eq!(works(&run(&manager, "echo next").await), "next\n");
    });
}

#[test]
fn walls_are_left_out_only_where_the_settings_allow_it() {
    each_caller(async |world| {
        let outside = world.outside("made");
        let input = ToolInput {
            dangerously_disable_sandbox: true,
            ..ToolInput::new(format!("echo $KEPT > {}", outside.display()))
        };
        let manager = world.manager();
        let refused = manager.execute(input.clone()).await.unwrap();
        assert!(refused.blocked && !refused.sandboxed && refused.exit_code == 126, "{refused:?}");
        assert!(refused.stderr.contains("allowUnsandboxedCommands"), "{}", refused.stderr);
        assert!(refused.permission_request.is_none());
        assert_eq!(manager.decide(&input).unwrap().verdict, Verdict::Refuse);
        assert!(!outside.exists());

        world.write_settings(r#"{"allowUnsandboxedCommands": true}"#);
        let manager = world.manager();
        works(&run(&manager, "export KEPT=1").await);
        let done = manager.execute(input).await.unwrap();
        assert!(!done.sandboxed && done.exit_code == 0, "{done:?}");
        assert_eq!(done.kind, "none");
        assert!(done.notices.iter().any(|notice| notice.contains("WARNING: NO SANDBOX")), "{done:?}");
        assert!(outside.exists());
        fs::remove_file(&outside).unwrap();
        let walled = run(&manager, format!("echo x > {}", outside.display())).await;
        assert!(walled.sandboxed && walled.exit_code != 0 && walled.notices.is_empty(), "{walled:?}");

        // Without walls the limit holds as well.
        let input =
            ToolInput { timeout: Some(300), dangerously_disable_sandbox: true, ..ToolInput::new("sleep 60") };
        let begun = Instant::now();
        let done = manager.execute(input).await.unwrap();
        assert!(done.timed_out && done.exit_code != 0, "{done:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    });
}

/// A file rule that changes holds from the next call on.
#[test]
fn settings_that_change_are_followed() {
    each_caller(async |world| {
        let outside = world.file("file", "");
        let manager = world.manager();
        works(&run(&manager, "export KEPT=1").await);
        assert_ne!(run(&manager, format!("echo x > {}", outside.display())).await.exit_code, 0);
        let allow = format!(r#"{{"filesystem": {{"allowWrite": ["{}"]}}}}"#, outside.display());
        world.write_settings(&allow);
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let next = run(&manager, format!("echo x > {} && echo $KEPT", outside.display())).await;
            if next.exit_code == 0 {
                assert_eq!(next.stdout, "1\n");
                break;
            }
            assert!(Instant::now() < end, "{next:?}");
        }
    });
}
