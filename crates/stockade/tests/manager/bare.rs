//! Where the settings switch the walls off.

use crate::world::{each_caller, run, works};
use stockade::{Layer, ManagerState, SettingsFile, ToolInput, Verdict};

#[test]
fn it_is_loud() {
    each_caller(async |world| {
        world.write_settings(r#"{"enabled": false}"#);
        let manager = world.manager();
        let made = world.outside("made");
        let done = run(&manager, format!("echo x > {}", made.display())).await;
        works(&done);
        assert!(!done.sandboxed);
        assert_eq!(done.kind, "none");
        assert!(done.notices[0].starts_with("WARNING: NO SANDBOX"), "{done:?}");
        assert!(done.notices[0].contains("settings.json"), "{done:?}");
        assert!(made.exists());
        let status = manager.status();
        assert_eq!(status.state, ManagerState::Bare);
        assert!(status.warning.unwrap().starts_with("WARNING: NO SANDBOX"));

        let background = manager.execute(ToolInput::background("echo out")).await.unwrap();
        assert!(!background.sandboxed && !background.notices.is_empty(), "{background:?}");
        let output = manager.wait(&background.background_id.unwrap()).await.unwrap();
        assert_eq!(output.chunks[0].data, b"out\n");
    });
}

/// A project cannot do that.
#[test]
fn only_the_user_can() {
    each_caller(async |world| {
        let settings = world.at("project.json");
        std::fs::write(&settings, r#"{"enabled": false}"#).unwrap();
        let builder = world.builder().settings(SettingsFile::named(settings, Layer::Project));
        let manager = stockade::Manager::new(builder);
        let done = run(&manager, format!("echo x > {}", world.outside("made").display())).await;
        assert!(done.sandboxed && done.exit_code != 0, "{done:?}");
        assert_eq!(manager.status().warning, None);
    });
}

/// Commands behind walls do not choose where others act without.
#[test]
fn where_commands_went_walls_are_kept() {
    each_caller(async |world| {
        world.write_settings(r#"{"excludedCommands": ["touch:*"]}"#);
        let manager = world.manager();
        let touch = ToolInput::new("touch made");
        works(&run(&manager, "true").await);
        assert_eq!(manager.decide(&touch).unwrap().verdict, Verdict::Unsandboxed);
        works(&run(&manager, format!("cd {}", world.at("outside").display())).await);
        assert_eq!(manager.decide(&touch).unwrap().verdict, Verdict::Sandbox);
        let done = manager.execute(touch).await.unwrap();
        assert!(done.sandboxed && done.exit_code != 0, "{done:?}");
        let background = manager.execute(ToolInput::background("touch made")).await.unwrap();
        assert!(background.sandboxed && background.notices.is_empty(), "{background:?}");
        let over = manager.wait(&background.background_id.unwrap()).await.unwrap();
        assert!(over.outcome.unwrap().sandboxed);
        assert!(!world.outside("made").exists());
    });
}
