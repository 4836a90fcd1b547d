//! Answers do what they say, and nothing else.

use crate::world::{World, asked, each_caller, run, works};
use std::fs;
use stockade::{
    Access, Answered, Flags, GrantStore, Layer, Manager, ManagerError, PermissionAnswer, PermissionRequest,
    Scope, SettingsFile, ToolResult,
};

async fn once(manager: &Manager, request: &PermissionRequest) -> ToolResult {
    match manager.answer(request, PermissionAnswer::AllowOnce).await.unwrap() {
        Answered::Ran(result) => *result,
        other => panic!("{other:?}"),
    }
}

async fn granted(
    manager: &Manager,
    request: &PermissionRequest,
    answer: PermissionAnswer,
) -> stockade::Grant {
    match manager.answer(request, answer).await.unwrap() {
        Answered::Granted(grant) => grant,
        other => panic!("{other:?}"),
    }
}

/// A manager that may not read one file outside.
fn with_secret(world: &World) -> Manager {
    let secret = world.file("secret", "SECRET");
    let deny_read = vec![secret.to_str().unwrap().to_owned()];
    Manager::new(world.builder().flags(Flags { deny_read, ..Flags::default() }))
}

#[test]
fn a_request_says_what_was_refused() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        let secret = world.outside("secret");
        let text = format!("cat {}", secret.display());
        let request = asked(&run(&manager, &text).await);
        assert_eq!(request.resource, secret.to_str().unwrap());
        assert_eq!(request.command, text);
        let written = serde_json::to_value(&request).unwrap();
        assert_eq!(written["type"], "sandbox_access");
        assert_eq!(written["operation"], "read");
        let options = serde_json::json!(["allow_once", "allow_session", "allow_permanent", "deny"]);
        assert_eq!(written["options"], options);
        assert_eq!(serde_json::from_value::<PermissionRequest>(written).unwrap(), request);
        assert_eq!(manager.requests(), [request]);
    });
}

#[test]
fn once_is_that_command_and_nothing_after() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        world.file("other", "OTHER");
        let secret = world.outside("secret");
        works(&run(&manager, "export KEPT=1; mkdir below").await);
        let text = format!("cat {} && cd below && export NEW=\"it's\" && echo $KEPT", secret.display());
        let request = asked(&run(&manager, text).await);
        let result = once(&manager, &request).await;
        assert_eq!(works(&result), "SECRET1\n");
        assert!(result.sandboxed);
        // Where the command went and what it exported is kept, what it could read is not.
        let after = run(&manager, format!("echo $PWD $KEPT $NEW; cat {}", secret.display())).await;
        assert_eq!(after.stdout, format!("{} 1 it's\n", world.at("home/work/below").display()));
        assert!(after.blocked && after.exit_code != 0, "{after:?}");
        assert_eq!(manager.list().len(), 1);
        let again = manager.answer(&request, PermissionAnswer::AllowOnce).await.unwrap_err();
        assert!(matches!(again, ManagerError::UnknownRequest { .. }), "{again:?}");
        assert!(!world.user_settings().exists());
    });
}

/// Only that resource: what is refused besides is asked about, and then both are open for that command.
#[test]
fn once_opens_one_thing_after_the_other() {
    each_caller(async |world| {
        let manager = world.manager();
        let (one, two) = (world.file("one", ""), world.file("two", ""));
        let text = format!("set -e; echo x > {}; echo y > {}; set +e", one.display(), two.display());
        let first = asked(&run(&manager, format!("({text})")).await);
        assert_eq!(first.resource, one.to_str().unwrap());
        let result = once(&manager, &first).await;
        let second = asked(&result);
        assert_eq!(second.resource, two.to_str().unwrap());
        assert_eq!(fs::read(&two).unwrap(), b"");
        works(&once(&manager, &second).await);
        assert_eq!((fs::read(&one).unwrap(), fs::read(&two).unwrap()), (b"x\n".to_vec(), b"y\n".to_vec()));
        for path in [one, two] {
            assert_ne!(run(&manager, format!("echo z > {}", path.display())).await.exit_code, 0);
        }
    });
}

/// Names that are not there yet, or are to go, can be allowed as well.
#[test]
fn once_makes_and_removes_names() {
    each_caller(async |world| {
        let manager = world.manager();
        world.file("old", "");
        for (text, beside) in
            [("echo x > new", "echo x > new2"), ("mkdir new.d", "mkdir new2.d"), ("unlink old", "unlink new")]
        {
            let outside = world.outside("");
            let request = asked(&run(&manager, format!("(cd {} && {text})", outside.display())).await);
            works(&once(&manager, &request).await);
            let next = run(&manager, format!("(cd {} && {beside})", outside.display())).await;
            assert!(next.blocked, "{beside}: {next:?}");
        }
        assert_eq!(fs::read(world.outside("new")).unwrap(), b"x\n");
        assert!(world.outside("new.d").is_dir() && !world.outside("old").exists());
        assert!(!world.outside("new2").exists() && !world.outside("new2.d").exists());
    });
}

#[test]
fn what_an_allowed_command_leaves_running_ends_with_its_sandbox() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        let secret = world.outside("secret");
        let text = format!(
            "cat {0} > /dev/null || exit 1; (sleep 0.7; cat {0} > stolen) & disown; true",
            secret.display()
        );
        let request = asked(&run(&manager, text).await);
        works(&once(&manager, &request).await);
        tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
        assert!(!world.at("home/work/stolen").exists());
    });
}

#[test]
fn session_is_kept_over_rebuilds_and_gone_with_the_manager() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        let (secret, new) = (world.outside("secret"), world.outside("new"));
        works(&run(&manager, "export KEPT=1; mkdir below; cd below").await);
        let request = asked(&run(&manager, format!("cat {}", secret.display())).await);
        let grant = granted(&manager, &request, PermissionAnswer::AllowSession).await;
        assert_eq!((grant.scope, grant.subject.as_str()), (Scope::Session, secret.to_str().unwrap()));
        let text = format!("cat {}; echo $KEPT $PWD", secret.display());
        let done = run(&manager, text).await;
        assert_eq!(works(&done), format!("SECRET1 {}\n", world.at("home/work/below").display()));
        assert!(done.notices.iter().any(|notice| notice.contains("built anew")), "{:?}", done.notices);

        // Another permission builds it again; the first one still holds, and so does the next.
        let request = asked(&run(&manager, format!("echo x > {}", new.display())).await);
        granted(&manager, &request, PermissionAnswer::AllowSession).await;
        for _ in 0..2 {
            works(&run(&manager, format!("echo x >> {} && cat {}", new.display(), secret.display())).await);
        }
        assert_eq!(fs::read(&new).unwrap(), b"x\nx\n");
        assert_ne!(run(&manager, format!("echo x > {}2", new.display())).await.exit_code, 0);
        assert_eq!(manager.status().grants, 2);
        assert!(!world.user_settings().exists());

        // Taken back.
        manager.revoke(&grant.id).await.unwrap();
        assert_ne!(run(&manager, format!("cat {}", secret.display())).await.exit_code, 0);
        works(&run(&manager, format!("echo x >> {}", new.display())).await);
        assert!(matches!(manager.revoke("s99").await, Err(ManagerError::Grant(_))));

        let next = with_secret(&world);
        assert_ne!(run(&next, format!("echo x >> {}", new.display())).await.exit_code, 0);
    });
}

/// A directory that may be made may be filled by the command after.
#[test]
fn a_directory_that_was_allowed_can_be_used() {
    each_caller(async |world| {
        let manager = world.manager();
        let made = world.outside("made");
        let request = asked(&run(&manager, format!("mkdir {}", made.display())).await);
        granted(&manager, &request, PermissionAnswer::AllowSession).await;
        works(&run(&manager, format!("mkdir {}", made.display())).await);
        works(&run(&manager, format!("echo x > {}/file", made.display())).await);
        assert!(made.join("file").exists());
    });
}

#[test]
fn permanent_is_written_to_the_users_settings() {
    each_caller(async |world| {
        world.write_settings("{\n  // mine\n  \"audit\": \"off\"\n}\n");
        let manager = world.manager();
        let file = world.file("file", "");
        let request = asked(&run(&manager, format!("echo x >> {}", file.display())).await);
        assert_eq!(request.settings, Some(world.user_settings()));
        let grant = granted(&manager, &request, PermissionAnswer::AllowPermanent).await;
        assert_eq!(grant.scope, Scope::Permanent);
        works(&run(&manager, format!("echo x >> {}", file.display())).await);
        let text = fs::read_to_string(world.user_settings()).unwrap();
        assert!(text.contains("// mine") && text.contains(file.to_str().unwrap()), "{text}");
        manager.shutdown().await;
        let next = world.manager();
        works(&run(&next, format!("echo x >> {}", file.display())).await);
        assert_eq!(fs::read(&file).unwrap(), b"x\nx\n");
    });
}

#[test]
fn deny_opens_nothing_and_tells_the_agent() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        let secret = world.outside("secret");
        let request = asked(&run(&manager, format!("cat {}", secret.display())).await);
        let answered = manager.answer(&request, PermissionAnswer::Deny).await.unwrap();
        let Answered::Denied { text } = answered else { panic!("{answered:?}") };
        assert!(text.contains("said no") && text.contains(secret.to_str().unwrap()), "{text}");
        assert_ne!(run(&manager, format!("cat {}", secret.display())).await.exit_code, 0);
        assert_eq!(manager.status().grants, 0);
        assert!(manager.answer(&request, PermissionAnswer::AllowSession).await.is_err());
    });
}

/// What goes around the world and comes back changed opens nothing else.
#[test]
fn a_forged_request_opens_nothing() {
    each_caller(async |world| {
        let manager = with_secret(&world);
        let (secret, file) = (world.outside("secret"), world.file("file", ""));
        let request = asked(&run(&manager, format!("echo x > {}", file.display())).await);
        let changed = PermissionRequest {
            resource: secret.to_str().unwrap().into(),
            command: "cat *".into(),
            ..request.clone()
        };
        let grant = granted(&manager, &changed, PermissionAnswer::AllowSession).await;
        assert_eq!(grant.subject, file.to_str().unwrap());
        assert_ne!(run(&manager, format!("cat {}", secret.display())).await.exit_code, 0);
        let unknown = PermissionRequest { id: "p99".into(), ..request };
        let error = manager.answer(&unknown, PermissionAnswer::AllowSession).await.unwrap_err();
        assert!(matches!(error, ManagerError::UnknownRequest { .. }), "{error:?}");
    });
}

/// A person is not asked what they cannot allow.
#[test]
fn nobody_is_asked_about_what_stands() {
    each_caller(async |world| {
        let secret = world.file("secret", "SECRET");
        let settings = world.at("managed.json");
        let deny = format!(r#"{{"filesystem": {{"denyRead": ["{}"]}}}}"#, secret.display());
        fs::write(&settings, deny).unwrap();
        let manager = Manager::new(world.builder().settings(SettingsFile::named(settings, Layer::Managed)));
        let done = run(&manager, format!("cat {}", secret.display())).await;
        assert!(done.exit_code != 0 && done.permission_request.is_none(), "{done:?}");
        let done = run(&manager, "mkdir .vscode").await;
        assert!(done.blocked && done.permission_request.is_none(), "{done:?}");
        // The program cannot open it either.
        let error = manager.allow(Access::Read(secret.clone())).await.unwrap_err();
        assert!(matches!(error, ManagerError::StaysClosed { .. }), "{error:?}");
        assert_ne!(run(&manager, format!("cat {}", secret.display())).await.exit_code, 0);
        assert_eq!(manager.status().grants, 0);
    });
}

/// Where there is no place to write to, it is not offered.
#[test]
fn only_what_can_be_done_is_offered() {
    each_caller(async |world| {
        let manager = Manager::new(world.builder().grants(GrantStore::in_memory()));
        let file = world.file("file", "");
        let request = asked(&run(&manager, format!("echo x > {}", file.display())).await);
        assert!(!request.options.contains(&PermissionAnswer::AllowPermanent));
        let error = manager.answer(&request, PermissionAnswer::AllowPermanent).await.unwrap_err();
        assert!(matches!(error, ManagerError::NotOffered { .. }), "{error:?}");
        // It still waits for an answer that can be followed.
        granted(&manager, &request, PermissionAnswer::AllowSession).await;
        works(&run(&manager, format!("echo x > {}", file.display())).await);
    });
}

#[test]
fn a_whitelist_opens_what_is_below_and_not_what_is_denied() {
    each_caller(async |world| {
        let home = world.at("home");
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), "KEY").unwrap();
        fs::create_dir(world.outside("tree")).unwrap();
        std::os::unix::fs::symlink(world.outside("tree"), world.at("home/work/link")).unwrap();
        let manager = world.manager();
        manager.add_runtime_whitelist("link").await.unwrap();
        manager.add_runtime_whitelist(&home).await.unwrap();
        works(
            &run(&manager, format!("echo x > {}/file && echo x > ../made", world.outside("tree").display()))
                .await,
        );
        assert!(home.join("made").exists());
        let done = run(&manager, "cat ../.ssh/id").await;
        assert!(!done.stdout.contains("KEY"), "{done:?}");
        let done =
            run(&manager, "ls ../.config/stockade ../.local/state/stockade; echo x > ../.bashrc").await;
        assert!(done.exit_code != 0 && !home.join(".bashrc").exists(), "{done:?}");
        let error = manager.add_runtime_whitelist(world.outside("missing")).await.unwrap_err();
        assert!(matches!(error, ManagerError::Missing { .. }), "{error:?}");
    });
}
