//! Settings files of other programs, and what becomes of them here.

use crate::testing::{Tree, inputs, load, request, settings_file, usual_tree};
use crate::{
    CommandLine, Flags, Inputs, Layer, Notice, NoticeWeight, Policy, Presence, Request, SettingsFile, Shape,
    Switch, Trust, Verdict,
};

/// A file as Claude Code's users have it: every form of path, tools that are no business of a sandbox, keys of
/// its own.
const CLAUDE: &str = r#"{
    "$schema": "https://example.org/claude-code-settings.json",
    "model": "opus",
    "env": {"FOO": "bar"},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]},
    "permissions": {
        "defaultMode": "acceptEdits",
        "allow": [
            "Bash(npm run test:*)", "Edit(//srv/out/**)", "Edit(~/notes/**)", "Write(/build)", "MultiEdit(./gen/**)",
            "Read(//home/me/.aws/config)", "WebFetch(domain:docs.example)", "WebFetch", "mcp__github__list", "Edit"
        ],
        "deny": [
            "Read(.secret)", "Read(/conf/prod.json)", "Read(~/private/**)", "Read(//srv/keys)", "Edit(docs/**)",
            "Write(./LICENSE)", "WebFetch(domain:*.bad.example)", "WebSearch", "Bash(curl:*)", "Bash(git push *)"
        ],
        "ask": ["Bash(git tag:*)", "WebFetch(domain:x.example)"],
        "additionalDirectories": ["../beside", "~/more"]
    },
    "sandbox": {
        "enabled": true,
        "allowUnsandboxedCommands": true,
        "excludedCommands": ["docker:*"], "autoAllowBashIfSandboxed": false, "failIfUnavailable": true,
        "enabledPlatforms": ["linux", "wsl"],
        "enableWeakerNestedSandbox": false,
        "network": {
            "allowedDomains": ["github.com", "*.npm.example"], "deniedDomains": ["uploads.github.com"],
            "allowUnixSockets": ["~/.ssh/agent.sock"], "allowLocalBinding": true, "httpProxyPort": 8080
        },
        "filesystem": {
            "allowWrite": ["/opt/cache", "//opt/older", "~/.kube", "./dist", "out"],
            "denyWrite": ["dist/keep"], "denyRead": ["~/.kube/config", "certs/*.pem"], "allowRead": ["~/.docker/config.json"]
        }
    }
}"#;

const FILES: [&str; 21] = [
    "/srv/out/f",
    "/srv/keys/f",
    "/home/me/notes/f",
    "/home/me/private/f",
    "/home/me/.aws/config",
    "/home/me/.aws/credentials",
    "/home/me/.kube/cache",
    "/home/me/.kube/config",
    "/home/me/.docker/config.json",
    "/home/me/more/f",
    "/beside/f",
    "/opt/cache/f",
    "/opt/older/f",
    "/ws/.secret",
    "/ws/deep/.secret",
    "/ws/conf/prod.json",
    "/ws/docs/f",
    "/ws/LICENSE",
    "/ws/dist/keep",
    "/ws/certs/a.pem",
    "/ws/src/f",
];

fn tree(path: &str, text: &str) -> Tree {
    usual_tree().files(&FILES).directory("/ws/build").directory("/ws/out").text(path, text)
}

fn file(path: &str, layer: Layer, shape: Shape) -> SettingsFile {
    SettingsFile { path: path.into(), ..settings_file(layer, shape) }
}

fn from(tree: &Tree, settings: Vec<SettingsFile>) -> Policy {
    Policy::load(Inputs { settings, ..inputs() }, tree).unwrap()
}

/// Rows of a path, whether it may be read, and written, and the key that decided.
type Row = (&'static str, bool, bool, &'static str);

fn check(policy: &Policy, tree: &Tree, rows: &[Row]) {
    for (path, read, write, key) in rows {
        let told = policy.explain(path.as_ref(), tree).unwrap();
        assert_eq!((told.read.allowed, told.write.allowed), (*read, *write), "{path}: {told:#?}");
        let keys = [&told.read.rule, &told.write.rule].map(|rule| match rule {
            Some(rule) => rule.origin.key.clone(),
            None => String::new(),
        });
        assert!(key.is_empty() || keys.iter().any(|told| told == key), "{path}: {keys:?}");
    }
}

#[test]
fn claude_code_of_the_user_who_trusts_the_project() {
    let path = "/ws/.claude/settings.json";
    let tree = tree(path, CLAUDE);
    let trusted = SettingsFile { trust: Trust::Trusted, ..file(path, Layer::Project, Shape::Claude) };
    let policy = from(&tree, vec![trusted]);
    check(
        &policy,
        &tree,
        &[
            ("/srv/out/f", true, true, "permissions.allow[1]"),
            ("/home/me/notes/f", true, true, "permissions.allow[2]"),
            ("/ws/build", true, true, ""),
            ("/ws/.secret", false, false, "permissions.deny[0]"),
            ("/ws/deep/.secret", false, false, "permissions.deny[0]"),
            ("/ws/conf/prod.json", false, false, "permissions.deny[1]"),
            ("/home/me/private/f", false, false, "permissions.deny[2]"),
            ("/srv/keys/f", false, false, "permissions.deny[3]"),
            ("/ws/docs/f", true, false, "permissions.deny[4]"),
            ("/ws/LICENSE", true, false, "permissions.deny[5]"),
            ("/beside/f", true, true, "permissions.additionalDirectories[0]"),
            ("/home/me/more/f", true, true, "permissions.additionalDirectories[1]"),
            ("/opt/cache/f", true, true, "sandbox.filesystem.allowWrite[0]"),
            ("/opt/older/f", true, true, "sandbox.filesystem.allowWrite[1]"),
            ("/ws/dist/keep", true, false, "sandbox.filesystem.denyWrite[0]"),
            ("/home/me/.kube/config", false, false, ""),
            ("/ws/certs/a.pem", false, false, "sandbox.filesystem.denyRead[1]"),
            ("/ws/src/f", true, true, ""),
            // The default deny-read list is not a project's to open, however trusted.
            ("/home/me/.aws/config", false, false, ""),
            ("/home/me/.docker/config.json", false, false, ""),
        ],
    );
    let hosts = policy.network();
    let keys = |rules: &[crate::DomainRule]| -> Vec<String> {
        rules.iter().map(|rule| format!("{} {}", rule.pattern, rule.rule.origin.key)).collect()
    };
    assert_eq!(
        keys(&hosts.allowed),
        [
            "github.com sandbox.network.allowedDomains[0]",
            "*.npm.example sandbox.network.allowedDomains[1]",
            "docs.example permissions.allow[6]",
        ]
    );
    assert_eq!(
        keys(&hosts.denied),
        ["uploads.github.com sandbox.network.deniedDomains[0]", "*.bad.example permissions.deny[6]"]
    );
    assert_eq!(hosts.unix_sockets[0].rule.origin.key, "sandbox.network.allowUnixSockets[0]");
    assert_eq!((hosts.local_binding, hosts.proxies), (Switch::Allowed, Switch::Allowed));
    assert_eq!(hosts.gateway.http_proxy_port, Some(8080));
    let verdict = |text: &str| {
        let command = CommandLine::Shell(text.into());
        policy.decide(&Request { command, ..request() }, &tree)
    };
    for (text, key) in
        [("curl https://x.example", "permissions.deny[8]"), ("git push origin", "permissions.deny[9]")]
    {
        let decision = verdict(text);
        assert_eq!(decision.verdict, Verdict::Refuse, "{text}");
        assert_eq!(decision.rule.unwrap().origin.key, key);
    }
    let asked = verdict("ls; git tag v1");
    assert_eq!((asked.verdict, asked.approval), (Verdict::Ask, crate::Approval::Needed));
    assert_eq!(asked.rule.unwrap().origin.key, "permissions.ask[0]");
    // Walls are taken down by nobody but the user.
    assert_eq!(verdict("docker ps").verdict, Verdict::Sandbox);
    let told: Vec<&str> = policy.notices().iter().map(|notice| notice.text.as_str()).collect();
    for wanted in [
        "sandbox.enableWeakerNestedSandbox",
        "permissions.ask[1] WebFetch(domain:x.example)",
        "mcp__github__list",
    ] {
        assert!(told.iter().any(|text| text.contains(wanted)), "{wanted} in {told:#?}");
    }
}

#[test]
fn the_users_own_file_may_open_more_and_is_relative_to_itself() {
    let path = "/home/me/.claude/settings.json";
    let tree = tree(path, CLAUDE).files(&["/home/me/.claude/build/f", "/home/me/.claude/dist/f"]);
    let policy = from(&tree, vec![file(path, Layer::User, Shape::Claude)]);
    check(
        &policy,
        &tree,
        &[
            ("/home/me/.aws/config", true, false, "permissions.allow[5]"),
            ("/home/me/.aws/credentials", false, false, ""),
            ("/home/me/.docker/config.json", true, false, "sandbox.filesystem.allowRead[0]"),
            // `/build` is relative to the file, which lies in a directory that is masked.
            ("/ws/conf/prod.json", true, true, ""),
            ("/ws/dist/keep", true, true, ""),
        ],
    );
    let told = policy.describe();
    assert!(told.rules.iter().any(|rule| rule.entry == "Write(/build)"));
    let excluded = told.rules.iter().find(|rule| rule.list == "excludedCommands").unwrap();
    assert_eq!(excluded.origin.key, "sandbox.excludedCommands[0]");
    let denied = told.rules.iter().find(|rule| rule.list == "commands.deny").unwrap();
    assert_eq!((denied.entry.as_str(), denied.origin.key.as_str()), ("Bash(curl:*)", "permissions.deny[8]"));
    let asks = told.values.iter().find(|told| told.key == "autoAllowBashIfSandboxed").unwrap();
    assert_eq!((asks.value == false, asks.origin.key.as_str()), (true, "autoAllowBashIfSandboxed"));
}

#[test]
fn a_project_that_nobody_trusts_only_tightens() {
    let path = "/ws/.claude/settings.local.json";
    let tree = tree(path, CLAUDE);
    let policy = from(&tree, vec![file(path, Layer::Project, Shape::Claude)]);
    check(
        &policy,
        &tree,
        &[
            ("/srv/out/f", true, false, ""),
            ("/opt/cache/f", true, false, ""),
            ("/beside/f", true, false, ""),
            ("/ws/.secret", false, false, "permissions.deny[0]"),
            ("/ws/docs/f", true, false, "permissions.deny[4]"),
            ("/ws/certs/a.pem", false, false, "sandbox.filesystem.denyRead[1]"),
        ],
    );
    assert!(policy.network().allowed.is_empty() && policy.network().unix_sockets.is_empty());
    assert_eq!(policy.network().denied.len(), 2);
    let warned: Vec<&str> = policy
        .notices()
        .iter()
        .filter(|notice| notice.weight == NoticeWeight::Warning)
        .map(|notice| notice.text.as_str())
        .collect();
    for key in [
        "permissions.allow[1] (Edit(//srv/out/**))",
        "permissions.allow[6] (docs.example)",
        "permissions.additionalDirectories[0] (../beside)",
        "sandbox.filesystem.allowWrite[0] (/opt/cache)",
        "sandbox.network.allowedDomains[0] (github.com)",
        "sandbox.allowUnsandboxedCommands (true)",
    ] {
        let said = |text: &&&str| text.contains(&format!("{path} {key} is ignored"));
        assert_eq!(warned.iter().filter(said).count(), 1, "{key} in {warned:#?}");
    }
}

#[test]
fn trust_has_an_end() {
    let text = r#"{"enabled": false, "preset": "unrestricted", "provider": "docker",
        "filesystem": {"protection": {"git": "off"}, "allowWrite": ["/opt/cache"], "allowRead": ["~/.ssh/id"]}}"#;
    let tree = usual_tree()
        .files(&["/home/me/.ssh/id", "/opt/cache/f", "/ws/.git/hooks/x"])
        .text("/ws/.stockade.json", text);
    let trusted =
        SettingsFile { trust: Trust::Trusted, ..file("/ws/.stockade.json", Layer::Project, Shape::Native) };
    let policy = from(&tree, vec![trusted]);
    assert_eq!(policy.decide(&request(), &tree).verdict, Verdict::Sandbox);
    assert_eq!((policy.preset(), policy.provider()), ("default", "docker"));
    check(
        &policy,
        &tree,
        &[
            ("/opt/cache/f", true, true, "filesystem.allowWrite[0]"),
            ("/home/me/.ssh/id", false, false, ""),
            ("/ws/.git/hooks/x", true, false, ""),
        ],
    );
}

#[test]
fn organisations_name_every_host() {
    let managed =
        r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["a.example"]}}}"#;
    let user = r#"{"network": {"allowedDomains": ["b.example"], "allowPublicHosts": true}}"#;
    let tree = usual_tree().text("/managed.json", managed).text("/user.json", user);
    let files = vec![
        file("/managed.json", Layer::Managed, Shape::Claude),
        file("/user.json", Layer::User, Shape::Native),
    ];
    let policy = from(&tree, files);
    let network = policy.network();
    assert_eq!(network.allowed.len(), 1);
    assert_eq!(network.allowed[0].rule.origin.key, "sandbox.network.allowedDomains[0]");
    assert_eq!((network.public_hosts, network.asking), (Switch::Refused, Switch::Refused));
    // Anybody else's wish for that is no rule.
    let policy = load(&tree, Layer::User, Shape::Claude, managed).unwrap();
    assert_eq!((policy.network().allowed.len(), policy.network().asking), (1, Switch::Allowed));
}

#[test]
fn sandbox_json() {
    let text = r#"{"enabled": true, "provider": "local", "providerOptions": {"x": 1}, "policy": {
        "filesystem": {"whitelist": ["/srv/out", "$TOOLS/x", "~/notes", "/no/such", "~/.ssh"],
                       "blacklist": ["/srv/out/f", "**/private/**"]},
        "network": {"allowNetwork": true}}}"#;
    let tree = usual_tree()
        .files(&FILES)
        .files(&[
            "/srv/out/g",
            "/tools/x/f",
            "/home/me/.ssh/id",
            "/etc/shadow",
            "/ws/.env",
            "/ws/credentials.json",
        ])
        .text("/sandbox.json", text);
    let settings = vec![file("/sandbox.json", Layer::User, Shape::Simple)];
    let environment = vec![("TOOLS".into(), "/tools".into())];
    let policy = Policy::load(Inputs { settings, environment, ..inputs() }, &tree).unwrap();
    check(
        &policy,
        &tree,
        &[
            ("/srv/out/g", true, true, "policy.filesystem.whitelist[0]"),
            ("/srv/out/f", false, false, "policy.filesystem.blacklist[0]"),
            ("/tools/x/f", true, true, "policy.filesystem.whitelist[1]"),
            ("/home/me/notes/f", true, true, "policy.filesystem.whitelist[2]"),
            // The defaults of that shape cannot be removed: they are those of the sandbox.
            ("/home/me/.ssh/id", false, false, ""),
            ("/etc/shadow", false, false, ""),
            ("/ws/.env", false, false, ""),
            ("/ws/credentials.json", false, false, ""),
            ("/ws/src/f", true, true, ""),
        ],
    );
    let told = |wanted: &str| policy.notices().iter().any(|notice| notice.text.contains(wanted));
    assert!(told("policy.network.allowNetwork (true) is ignored") && told("providerOptions"));
    assert!(!policy.network().reaches_out());
}

#[test]
fn a_broken_sandbox_json_is_an_error_unless_somebody_asks_otherwise() {
    let tree = usual_tree().text("/sandbox.json", "{not json");
    let broken = |presence, shape| {
        let settings = vec![SettingsFile { presence, ..file("/sandbox.json", Layer::User, shape) }];
        Policy::load(Inputs { settings, ..inputs() }, &tree)
    };
    assert!(broken(Presence::Optional, Shape::Simple).is_err());
    assert!(broken(Presence::OrDefaults, Shape::Native).is_err());
    let policy = broken(Presence::OrDefaults, Shape::Simple).unwrap();
    let warned = &policy.notices()[0];
    assert_eq!(warned.weight, NoticeWeight::Warning);
    assert!(warned.text.contains("/sandbox.json is not valid JSON") && warned.text.contains("left out"));
}

#[test]
fn a_real_srt_file() {
    let text = r#"{
        "network": {"allowedDomains": ["github.com", "*.github.com"], "deniedDomains": [], "allowUnixSockets": []},
        "filesystem": {"denyRead": ["~/.ssh"], "allowWrite": [".", "/tmp"], "denyWrite": [".env", "config/"]},
        "ignoreViolations": {"*": ["/usr/bin"]}, "enableWeakerNestedSandbox": false
    }"#;
    let tree = usual_tree().files(&["/home/me/.ssh/id", "/home/me/.aws/x", "/ws/.env"]).text("/f.json", text);
    let found = SettingsFile::detected("/f.json", Layer::Flag, &tree).unwrap();
    assert_eq!(found.shape, Shape::Srt);
    let policy = from(&tree, vec![found]);
    check(
        &policy,
        &tree,
        &[
            ("/home/me/.ssh/id", false, false, "filesystem.denyRead[0]"),
            ("/home/me/.aws/x", true, false, ""),
            ("/ws/.env", true, false, "filesystem.denyWrite[0]"),
        ],
    );
    assert_eq!(policy.preset(), "srt");
}

/// Denying too much is the safe mistake.
#[test]
fn denials_hold_as_they_were_meant() {
    for rule in ["read(secret)", "Read (secret)", "Read( secret )"] {
        let text = format!(r#"{{"permissions": {{"deny": ["{rule}"]}}}}"#);
        let tree = tree("/home/me/.claude/settings.json", &text).text("/ws/secret", "");
        let policy = from(&tree, vec![file("/home/me/.claude/settings.json", Layer::User, Shape::Claude)]);
        assert!(!policy.explain("/ws/secret".as_ref(), &tree).unwrap().read.allowed, "{rule}");
    }
    for (text, said) in [
        (r#"{"permissions": {"deny": ["*"]}}"#, "holds no command"),
        (r#"{"permissions": {"Deny": ["Read(x)"]}}"#, "permissions.Deny"),
        (r#"{"sandbox": {"filesystem": {"denyread": ["x"]}}}"#, "sandbox.filesystem.denyread"),
    ] {
        let tree = tree("/home/me/.claude/settings.json", text);
        let policy = from(&tree, vec![file("/home/me/.claude/settings.json", Layer::User, Shape::Claude)]);
        let warned = |notice: &Notice| notice.weight == NoticeWeight::Warning && notice.text.contains(said);
        assert!(policy.notices().iter().any(warned), "{text}: {:?}", policy.notices());
    }
}

#[test]
fn every_mistake_is_named() {
    for (shape, text, wanted) in [
        (Shape::Claude, r#"{"sandbox": true}"#, "sandbox: invalid type"),
        (Shape::Claude, r#"{"sandbox": {"enabled": "yes"}}"#, "sandbox.enabled: invalid type"),
        (Shape::Claude, r#"{"permissions": {"deny": "Read"}}"#, "permissions.deny: invalid type"),
        (Shape::Claude, r#"{"permissions": {"deny": ["Bash", 3]}}"#, "permissions.deny[1]: invalid type"),
        (
            Shape::Claude,
            r#"{"permissions": {"deny": ["Read(x"]}}"#,
            "permissions.deny[0]: \"Read(x\": the bracket is not closed",
        ),
        (
            Shape::Claude,
            r#"{"permissions": {"allow": ["Edit()"]}}"#,
            "permissions.allow[0]: \"Edit()\": there is nothing",
        ),
        (Shape::Claude, r#"{"permissions": {"deny": ["WebFetch(domain:a b)"]}}"#, "permissions.deny[0]: "),
        (
            Shape::Claude,
            r#"{"permissions": {"deny": ["Read(~other/x)"]}}"#,
            "permissions.deny[0]: \"Read(~other/x)\": ",
        ),
        (
            Shape::Claude,
            r#"{"sandbox": {"network": {"allowedDomains": ["http://x"]}}}"#,
            "sandbox.network.allowedDomains[0]: ",
        ),
        (
            Shape::Claude,
            r#"{"sandbox": {"network": {"httpProxyPort": 99999}}}"#,
            "sandbox.network.httpProxyPort: ",
        ),
        (
            Shape::Claude,
            r#"{"sandbox": {"filesystem": {"denyRead": [""]}}}"#,
            "sandbox.filesystem.denyRead[0]: ",
        ),
        (Shape::Claude, r#"[]"#, "the whole file: "),
        (Shape::Claude, "", "is empty"),
        (Shape::Simple, r#"{"whitelist": []}"#, "whitelist: Unrecognized key whitelist"),
        (Shape::Simple, r#"{"policy": {"filesystem": {"blackList": []}}}"#, "did you mean blacklist?"),
        (
            Shape::Simple,
            r#"{"policy": {"filesystem": {"whitelist": ["$NO"]}}}"#,
            "policy.filesystem.whitelist[0]: ",
        ),
        (Shape::Simple, r#"{"policy": []}"#, "policy: "),
        (Shape::Simple, r#"{"provider": ""}"#, "provider: cannot be empty"),
    ] {
        let errors = load(&usual_tree(), Layer::User, shape, text).unwrap_err();
        assert_eq!(errors.0.len(), 1, "{text}: {errors}");
        assert!(errors.to_string().contains(wanted), "{text}: {errors}");
    }
}

#[test]
fn a_policy_tells_who_said_what() {
    let user = r#"{"filesystem": {"readScope": "workspace", "allowWrite": ["/srv/out"]}, "limits": {"maxOutput": 9},
        "environment": {"allow": ["A"], "set": {"TOKEN": "hidden"}}}"#;
    let managed =
        r#"{"filesystem": {"readScope": "workspace"}, "environment": {"deny": ["B"]}, "audit": "required"}"#;
    let project =
        r#"{"sandbox": {"network": {"deniedDomains": ["x.example"]}}, "permissions": {"deny": ["Read(s)"]}}"#;
    let tree = usual_tree()
        .files(&["/srv/out/f"])
        .text("/user.json", user)
        .text("/managed.json", managed)
        .text("/ws/.claude/settings.json", project);
    let files = vec![
        file("/managed.json", Layer::Managed, Shape::Native),
        file("/user.json", Layer::User, Shape::Native),
        file("/ws/.claude/settings.json", Layer::Project, Shape::Claude),
    ];
    let flags = Flags { env_pass: vec!["C".into()], ..Flags::default() };
    let environment = vec![("HTTPS_PROXY".into(), "http://me:word@proxy.example".into())];
    let told = Policy::load(Inputs { settings: files, flags, environment, ..inputs() }, &tree).unwrap();
    let told = told.describe();
    assert_eq!(told.preset, "default");
    let order: Vec<Layer> = told.files.iter().map(|file| file.layer).collect();
    assert_eq!(order, [Layer::Project, Layer::User, Layer::Managed]);
    let who = |key: &str, value: serde_json::Value| {
        let found = told.values.iter().find(|told| told.key == key && told.value == value);
        found.unwrap_or_else(|| panic!("{key} {value} in {:#?}", told.values)).origin.to_string()
    };
    for (key, value, origin) in [
        // Whoever changed it first; the organisation said the same again.
        ("filesystem.readScope", "workspace".into(), "/user.json filesystem.readScope"),
        ("limits.maxOutput", 9.into(), "/user.json limits.maxOutput"),
        ("environment.allow", "A".into(), "/user.json environment.allow"),
        ("environment.set", "TOKEN".into(), "/user.json environment.set"),
        ("environment.deny", "B".into(), "/managed.json environment.deny"),
        ("audit", "required".into(), "/managed.json audit"),
        ("environment.pass", "C".into(), "options of the command line environment.pass"),
        ("enabled", true.into(), "built in: default"),
        (
            "network.parentProxy",
            serde_json::json!({"http": null, "https": "http://...@proxy.example", "noProxy": null}),
            "built in: the caller's environment",
        ),
    ] {
        assert_eq!(who(key, value), origin, "{key}");
    }
    let rule = |entry: &str| told.rules.iter().find(|rule| rule.entry == entry).unwrap();
    assert_eq!(rule("/srv/out").origin.to_string(), "/user.json filesystem.allowWrite[0]");
    let denied = rule("x.example");
    assert_eq!(denied.list, "deniedDomains");
    assert_eq!(denied.origin.to_string(), "/ws/.claude/settings.json sandbox.network.deniedDomains[0]");
    assert_eq!(rule("Read(s)").origin.to_string(), "/ws/.claude/settings.json permissions.deny[0]");
    let layers: Vec<Layer> = told.rules.iter().map(|rule| rule.origin.layer).collect();
    let first_built_in = layers.iter().position(|layer| *layer == Layer::BuiltIn).unwrap();
    assert!(layers[..first_built_in].is_sorted());
    assert!(layers[first_built_in..].iter().all(|layer| *layer == Layer::BuiltIn));
    let text = serde_json::to_string(&told).unwrap();
    assert!(!text.contains("hidden"));
    assert_eq!(serde_json::from_str::<crate::Description>(&text).unwrap(), told);
}
