//! The default deny-read list, entry by entry, and names such as `.env` at any depth.

use crate::act;
use crate::support::{Snapshot, each_caller};
use std::path::Path;

/// Below HOME, each with a file that holds a secret.
const HOME_SECRETS: [&str; 40] = [
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/authorized_keys",
    ".aws/credentials",
    ".aws/config",
    ".gnupg/private-keys-v1.d/key",
    ".gnupg/pubring.kbx",
    ".config/gcloud/credentials.db",
    ".azure/accessTokens.json",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Login Data",
    ".mozilla/firefox/profile/logins.json",
    ".local/share/keyrings/login.keyring",
    ".password-store/secret.gpg",
    ".config/stockade/settings.json",
    ".local/state/stockade/audit.log",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".terraform.d/credentials.tfrc.json",
];

/// Below HOME, each of which tools need.
const HOME_OPEN: [&str; 9] = [
    ".ssh/known_hosts",
    ".ssh/config",
    ".ssh/id_rsa.pub",
    ".ssh/id_ed25519.pub",
    ".profile",
    ".gitconfig",
    ".config/other/file",
    ".cargo/config.toml",
    "documents/letter",
];

#[test]
fn every_secret_of_the_home_is_unreadable() {
    each_caller(|world| {
        for name in HOME_SECRETS {
            // Stockade reads its own settings: they have to be settings.
            let content = if name.ends_with("stockade/settings.json") { "{}" } else { "SECRET" };
            world.file(world.home.join(name), content);
        }
        for name in HOME_OPEN {
            world.file(world.home.join(name), "open");
        }
        let answers = world.run().batch(HOME_SECRETS.map(|name| act!["read", world.home.join(name)]));
        let leaks: Vec<String> = HOME_SECRETS
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| !["errno EACCES", "errno ENOENT"].contains(&answer.line()))
            .map(|(name, answer)| format!("{name}: {}", answer.line()))
            .collect();
        assert!(leaks.is_empty(), "readable:\n{}{}", leaks.join("\n"), answers[0].ran());
        for answer in world.run().batch(HOME_OPEN.map(|name| act!["read", world.home.join(name)])) {
            assert_eq!(answer.ok(), "open");
        }
    });
}

/// Masked means unreadable, never an empty file that a tool would take for the truth.
#[test]
fn a_masked_file_is_not_an_empty_file() {
    each_caller(|world| {
        let file = world.file(".env", "SECRET");
        let dir = world.file(world.home.join(".aws/credentials"), "SECRET").parent().unwrap().to_path_buf();
        let answers = world.run().batch([
            act!["read", &file],
            act!["open-both", &file],
            act!["open-write", &file],
            act!["list", &dir],
            act!["read", dir.join("credentials")],
            act!["create", dir.join("new")],
            act!["chmod", &file, "0o644"],
            act!["setxattr", &file],
            act!["map-exec", &file],
        ]);
        answers[0].errno(&["EACCES"]);
        answers[3].errno(&["EACCES"]);
        answers[4].errno(&["EACCES"]);
        for answer in &answers {
            answer.errno(&["EACCES", "EROFS", "EPERM", "EOPNOTSUPP"]);
        }
        assert_eq!(world.outside_probe(act!["read", &file]).ok(), "SECRET");
    });
}

#[test]
fn machine_secrets() {
    each_caller(|world| {
        let mut places = vec!["/etc/shadow".to_string(), "/etc/gshadow".to_string()];
        let keys = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
        places.extend(
            keys.map(|key| key.path().display().to_string())
                .filter(|key| key.contains("_host_") && key.ends_with("_key")),
        );
        for answer in world.run().batch(places.iter().map(|place| act!["read", place])) {
            answer.errno(&["EACCES", "ENOENT"]);
        }
        world.probe(["read", "/etc/hostname"]).ok();
        world.probe(["read", "/etc/passwd"]).ok();
        for place in ["/run/secrets", "/var/run/secrets/kubernetes.io"] {
            if Path::new(place).exists() {
                world.probe(["list", place]).errno(&["EACCES", "ENOENT"]);
            }
        }
    });
}

/// F20
#[test]
fn f20_names_at_any_depth() {
    each_caller(|world| {
        let secrets = [
            ".env",
            ".env.local",
            ".envrc",
            "credentials.json",
            "secrets.json",
            "one/two/three/four/five/six/.env",
            "dist/.env",
            "node_modules/pkg/.env",
            "node_modules/@scope/pkg/deep/.env.local",
            "vendor/x/credentials.json",
            ".hidden/dir/secrets.json",
            "target/debug/.env",
            "with space/.env",
        ];
        let open = [".env.example", "env", "one/two/.envx", "dist/x.env", "node_modules/pkg/index.js"];
        for name in secrets {
            world.file(name, "SECRET");
        }
        for name in open {
            world.file(name, "open");
        }
        let outside = world.file(world.outside.join("deep/.env"), "SECRET");
        let before = Snapshot::of(&world.ws, &[]);
        let mut acts: Vec<_> = secrets.map(|name| act!["read", world.ws.join(name)]).into();
        acts.extend(secrets.map(|name| act!["write", world.ws.join(name)]));
        acts.extend(secrets.map(|name| act!["unlink", world.ws.join(name)]));
        acts.extend(secrets.map(|name| act!["rename", world.ws.join(name), world.ws.join("shown")]));
        acts.extend(secrets.map(|name| act!["link", world.ws.join(name), world.ws.join("shown")]));
        let answers = world.run().batch(acts);
        let (reads, changes) = answers.split_at(secrets.len());
        for answer in reads {
            answer.errno(&["EACCES"]);
        }
        for answer in changes {
            answer.errno(&["EACCES", "EBUSY", "EROFS", "EXDEV", "EPERM"]);
        }
        Snapshot::of(&world.ws, &[]).same_as(&before, "after attacks on .env files");
        for answer in world.run().batch(open.map(|name| act!["read", world.ws.join(name)])) {
            assert_eq!(answer.ok(), "open");
        }
        // A listed root is searched as well.
        world.run().with("--allow-write", &world.outside).probe(act!["read", &outside]).errno(&["EACCES"]);
    });
}

/// Reached through a link, a secret stays one.
#[test]
fn secrets_behind_links() {
    each_caller(|world| {
        let elsewhere = world.file(world.outside.join("real-env"), "SECRET");
        let link = world.link(&elsewhere, ".env");
        let key = world.file(world.outside.join("keys/id_rsa"), "SECRET");
        let ssh = world.link(world.outside.join("keys"), world.home.join(".ssh"));
        for answer in world.run().batch([
            act!["read", &link],
            act!["read", &elsewhere],
            act!["read", ssh.join("id_rsa")],
            act!["read", &key],
        ]) {
            answer.errno(&["EACCES", "ENOENT"]);
        }
    });
}

/// A mask covers one name. That there are others is said, loudly.
#[test]
fn other_names_of_secrets_are_warned_of() {
    each_caller(|world| {
        let secret = world.file(".env", "SECRET");
        let ran = world.run().program(["true"]);
        ran.exits(0);
        assert!(!ran.err().contains("hard links"), "{ran}");
        std::fs::hard_link(&secret, world.outside.join("copy")).unwrap();
        let ran = world.run().program(["true"]);
        ran.exits(0);
        let told = ran.err();
        assert!(told.contains("hard links") && told.contains(secret.to_str().unwrap()), "{ran}");
    });
}

/// The user may open a more specific path, the project may not.
#[test]
fn only_the_user_opens_a_hole() {
    each_caller(|world| {
        let key = world.file(world.home.join(".ssh/deploy_key"), "KEY");
        let other = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let run = || world.run().with("--allow-read", &key);
        assert_eq!(run().probe(act!["read", &key]).ok(), "KEY");
        run().probe(act!["read", &other]).errno(&["EACCES", "ENOENT"]);
        let text = serde_json::json!({"filesystem": {"allowRead": [key]}}).to_string();
        world.file(".stockade.json", &text);
        world.probe(act!["read", &key]).errno(&["EACCES", "ENOENT"]);
        world.file(world.home.join(".config/stockade/settings.json"), &text);
        assert_eq!(world.probe(act!["read", &key]).ok(), "KEY");
    });
}
