//! A sandbox comes with the first call, stays, is replaced when it is lost, and goes.

use crate::world::{each_caller, eventually, processes, run, works};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use stockade::{
    BoxFuture, CreateError, ManagerError, ManagerState, NativeProvider, Plan, Provider, Sandbox,
    SandboxStatus, SessionOptions, ToolInput,
};

#[test]
fn one_sandbox_is_made_when_it_is_needed_and_reused() {
    each_caller(async |world| {
        let manager = world.manager();
        assert_eq!(manager.status().state, ManagerState::NotCreated);
        assert!(manager.list().is_empty());
        assert!(!world.at("home/.local").exists(), "something was made");

        fs::create_dir(world.at("home/work/below")).unwrap();
        works(&run(&manager, "cd below; export KEPT=1; own=2; echo x > /tmp/file").await);
        let listed = manager.list();
        let [sandbox] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!(sandbox.status, SandboxStatus::Running);
        let said = run(&manager, "echo $PWD $KEPT $own $(cat /tmp/file)").await;
        let below = world.at("home/work/below");
        assert_eq!(works(&said), format!("{} 1 2 x\n", below.display()));
        assert_eq!(manager.list(), listed);
        let status = manager.status();
        assert_eq!((status.state, status.commands), (ManagerState::Running, 2));
        assert_eq!(status.cwd, Some(below));
        assert_eq!(status.warning, None);
    });
}

#[test]
fn handles_share_a_sandbox_and_take_turns() {
    each_caller(async |world| {
        let manager = world.manager();
        let calls: Vec<_> = (0..4)
            .map(|number| {
                let manager = manager.clone();
                tokio::spawn(async move {
                    run(&manager, format!("seen=\"${{seen}}{number}\"; sleep 0.05; echo $seen")).await
                })
            })
            .collect();
        let mut said = Vec::new();
        for call in calls {
            said.push(works(&call.await.unwrap()).trim().to_owned());
        }
        said.sort_by_key(String::len);
        assert_eq!(said.iter().map(String::len).collect::<Vec<_>>(), [1, 2, 3, 4], "{said:?}");
        assert!(said.windows(2).all(|two| two[1].starts_with(&two[0])), "{said:?}");
        assert_eq!(manager.list().len(), 1);
    });
}

#[test]
fn a_shutdown_ends_everything() {
    each_caller(async |world| {
        let manager = world.manager();
        let words = format!("sleep 40{}", std::process::id());
        works(&run(&manager, format!("{words} & disown")).await);
        eventually("it did not start", || !processes(&words).is_empty()).await;
        let waiting = {
            let manager = manager.clone();
            tokio::spawn(async move { manager.execute(ToolInput::new("sleep 60")).await })
        };
        eventually("it does not run", || manager.status().commands == 2).await;
        manager.shutdown().await;
        eventually("something is left", || processes(&words).is_empty()).await;
        let ended = waiting.await.unwrap();
        assert!(ended.as_ref().map_or(true, |result| result.exit_code != 0), "{ended:?}");
        assert_eq!(manager.status().state, ManagerState::ShutDown);
        assert!(manager.list().is_empty());
        let error = manager.execute(ToolInput::new("true")).await.unwrap_err();
        assert!(matches!(error, ManagerError::ShutDown), "{error:?}");
    });
}

/// Nobody has to say that it is over.
#[test]
fn dropping_the_last_handle_ends_everything() {
    each_caller(async |world| {
        let manager = world.manager();
        let words = format!("sleep 50{}", std::process::id());
        works(&run(&manager, format!("{words} & disown")).await);
        let id = manager.execute(ToolInput::background(words.clone())).await.unwrap().background_id.unwrap();
        eventually("they did not start", || processes(&words).len() == 2).await;
        let copy = manager.clone();
        drop(manager);
        copy.poll(&id, 0).unwrap();
        drop(copy);
        eventually("something is left", || processes(&words).is_empty()).await;
    });
}

#[test]
fn a_killed_shell_is_replaced_and_what_was_lost_is_told() {
    each_caller(async |world| {
        let manager = world.manager();
        works(&run(&manager, "export KEPT=1; own=2").await);
        let killed = run(&manager, "kill -9 $$").await;
        assert_ne!(killed.exit_code, 0);
        let next = run(&manager, "echo $own-$PWD").await;
        assert_eq!(works(&next), format!("-{}\n", world.at("home/work").display()));
        let notices = [killed.notices, next.notices].concat().join("\n");
        assert!(notices.contains("lost: "), "{notices}");
        assert_eq!(manager.list().len(), 1);
    });
}

/// The first process of the sandbox is killed from outside: everything is made anew.
#[test]
fn a_lost_sandbox_is_replaced_and_what_was_lost_is_told() {
    each_caller(async |world| {
        let manager = world.manager();
        let words = format!("sleep 60{}", std::process::id());
        works(&run(&manager, format!("export KEPT=1; {words} & disown")).await);
        eventually("it did not start", || !processes(&words).is_empty()).await;
        let first = first_of_sandbox(processes(&words)[0]);
        assert!(Command::new("kill").args(["-9", &first.to_string()]).status().unwrap().success());
        eventually("it lives", || processes(&words).is_empty()).await;
        let next = run(&manager, "echo here").await;
        assert_eq!(works(&next), "here\n");
        assert!(next.sandboxed);
        let notices = next.notices.join("\n");
        assert!(notices.contains("started anew") && notices.contains("lost: "), "{notices}");
    });
}

/// The outermost process around this one whose number inside is 1.
fn first_of_sandbox(mut number: u32) -> u32 {
    loop {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap();
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        if field("NSpid:").split_whitespace().last() == Some("1") {
            return number;
        }
        number = field("PPid:").parse().unwrap();
        assert!(number > 1, "it is in no sandbox");
    }
}

#[test]
fn an_idle_sandbox_is_replaced() {
    each_caller(async |world| {
        let idle = Some(std::time::Duration::from_secs(1));
        let options = SessionOptions { idle, ..SessionOptions::default() };
        let manager = stockade::Manager::with_options(world.builder(), options);
        works(&run(&manager, "export KEPT=1").await);
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let next = run(&manager, "echo [$KEPT]").await;
        assert_eq!(works(&next), "[]\n");
        assert!(next.notices.iter().any(|notice| notice.contains("nobody used")), "{:?}", next.notices);
    });
}

#[test]
fn an_isolated_copy_shares_nothing_that_comes_later() {
    each_caller(async |world| {
        let manager = world.manager();
        let (early, late) = (world.file("early", ""), world.file("late", ""));
        manager.add_runtime_whitelist(&early).await.unwrap();
        works(&run(&manager, "export A=1; echo x > /tmp/file").await);
        let copy = manager.isolated_copy();
        manager.add_runtime_whitelist(&late).await.unwrap();
        let said = run(&copy, format!("echo [$A]; ls /tmp; echo x > {}", early.display())).await;
        assert_eq!(works(&said), "[]\n");
        assert_ne!(run(&copy, format!("echo x > {}", late.display())).await.exit_code, 0);
        works(&run(&manager, format!("echo x > {}", late.display())).await);
        assert_ne!(copy.list()[0].id, manager.list()[0].id);
        copy.shutdown().await;
        assert_eq!(works(&run(&manager, "echo $A").await), "1\n");
    });
}

#[test]
fn a_provider_nobody_knows_is_an_error() {
    each_caller(async |world| {
        let manager = stockade::Manager::new(world.builder().provider("x"));
        let error = manager.execute(ToolInput::new("touch ran")).await.unwrap_err();
        assert_eq!(error.to_string(), r#"Unknown sandbox provider: "x". Available: [native]"#);
        assert!(!world.at("home/work/ran").exists());
    });
}

/// Has no walls to give.
struct Broken;

impl Provider for Broken {
    fn kind(&self) -> &'static str {
        NativeProvider::new().kind()
    }

    fn create(&self, plan: Arc<Plan>) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, CreateError>> {
        // A directory that the plan needs goes away in between, as on a real machine.
        let mut plan = (*plan).clone();
        plan.workspace = "/nonexistent/workspace".into();
        plan.mounts.iter_mut().for_each(|mount| mount.path = "/nonexistent".into());
        Box::pin(async move { NativeProvider::new().create(Arc::new(plan)).await })
    }
}

#[test]
fn walls_that_cannot_be_built_are_an_error_and_nothing_runs() {
    each_caller(async |world| {
        let manager = stockade::Manager::new(world.builder().register(Arc::new(Broken)));
        for _ in 0..2 {
            let error = manager.execute(ToolInput::new("touch ran")).await.unwrap_err();
            assert!(matches!(error, ManagerError::Session(_)), "{error:?}");
        }
        assert!(!world.at("home/work/ran").exists());
        assert!(manager.list().is_empty());
    });
}

#[test]
fn broken_settings_are_an_error_until_they_are_mended() {
    each_caller(async |world| {
        world.write_settings("{\"filesystem\": 5}");
        let manager = world.manager();
        let error = manager.execute(ToolInput::new("touch ran")).await.unwrap_err();
        assert!(matches!(error, ManagerError::Build(_)), "{error:?}");
        assert!(!world.at("home/work/ran").exists());
        world.write_settings("{}");
        works(&run(&manager, "touch ran").await);
        assert!(world.at("home/work/ran").exists());
    });
}
