//! Where the settings switch the walls off.

use crate::world::{each_caller, run, works};
use stockade::{Layer, ManagerState, SettingsFile, ToolInput};

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
