//! What a decision costs: how many commands a second one core can decide about, without running any; and what
//! it costs to follow settings that change.
#![forbid(unsafe_code)]

use anyhow::{Context, Error, Result, ensure};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use stockade::{
    CommandLine, Layer, Presence, RealFiles, Records, Request, Runtime, SettingsFile, Shape,
    StandardSettings, Trust, Verdict,
};
use stockade_bench::{Pace, Promise, Samples, Table, read_options};

/// What agents write all day.
const TYPICAL: [&str; 12] = [
    "ls -la",
    "cat src/main.rs | head -n 50",
    "git status --short",
    "git diff HEAD~1 -- src/lib.rs",
    "grep -rn \"fn main\" --include='*.rs' .",
    "cargo test -p engine parser:: 2>&1 | tail -20",
    "npm ci && npm run build",
    "cd web && npx tsc --noEmit",
    "python3 -c 'import sys; print(sys.version)'",
    "find . -name '*.ts' -not -path './node_modules/*' | wc -l",
    "sed -n '1,80p' README.md",
    "FOO=1 timeout 60 make -j4 check",
];

/// Commands that run without walls: their programs are looked up on the disk.
const LISTED: [&str; 4] = [
    "docker ps -a",
    "git push origin main",
    "timeout 30 docker compose up -d",
    "npm run lint && npm run test unit",
];

/// Rules like those of a careful user.
const RULES: &str = r#"{
    "excludedCommands": ["docker:*", "git push:*", "npm run lint", "npm run test:*", "gh*"],
    "commands": {"deny": [
        {"program": "rm", "args": ["-*r*", "/"]}, {"program": "git", "args": ["push", "--force*"]}, {"program": "mkfs*"}
    ]}
}"#;

/// 40 000 decisions a second.
const LIMIT: Duration = Duration::from_micros(25);

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let (pace, format) = read_options(words).map_err(Error::msg)?;
    let rounds = if pace == Pace::Quick { 20 } else { 200 };
    let place = tempfile::tempdir().context("cannot make a workspace")?;
    let plain = runtime(place.path(), "{}")?;
    let ruled = runtime(place.path(), RULES)?;
    let cases = [
        ("typical commands, no rules", &plain, &TYPICAL[..], Verdict::Sandbox),
        ("typical commands, with rules", &ruled, &TYPICAL[..], Verdict::Sandbox),
        ("listed commands", &ruled, &LISTED[..], Verdict::Unsandboxed),
    ];
    let mut table = Table::new("decisions on one core", &["commands", "median", "p90", "decisions/s"]);
    let mut promises = Vec::new();
    for (name, runtime, texts, expected) in cases {
        let samples = measure(runtime, texts, expected, rounds)?;
        let median = samples.median();
        table.row([
            name.to_owned(),
            format!("{:.2} µs", micros(median)),
            format!("{:.2} µs", micros(samples.p90())),
            format!("{:.0}", 1.0 / median.as_secs_f64()),
        ]);
        if expected == Verdict::Sandbox {
            promises.push(Promise {
                text: format!("{name}: µs for a decision"),
                limit: micros(LIMIT),
                measured: Some(micros(median)),
            });
        }
    }
    print!("{}", table.render(format));
    print!("{}", reloads(place.path(), rounds)?.render(format));
    for promise in &promises {
        let measured = promise.measured.unwrap_or_default();
        println!("{}: {:.2} of {:.2}: {}", promise.text, measured, promise.limit, promise.verdict());
    }
    Ok(())
}

/// The time of one decision, from many rounds over all texts.
fn measure(runtime: &Runtime, texts: &[&str], expected: Verdict, rounds: usize) -> Result<Samples> {
    let policy = runtime.policy();
    let requests: Vec<Request> =
        texts.iter().map(|text| runtime.request(CommandLine::Shell(text.into()))).collect();
    for request in &requests {
        let decision = policy.decide(request, &RealFiles);
        ensure!(decision.verdict == expected, "{:?}: {}", request.command, decision.reason);
    }
    const REPEATED: u32 = 50;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        for _ in 0..REPEATED {
            for request in &requests {
                black_box(policy.decide(black_box(request), &RealFiles));
            }
        }
        times.push(begun.elapsed() / (REPEATED * u32::try_from(requests.len())?));
    }
    Samples::new(times).context("nothing was measured")
}

/// What every command pays to be sure of its settings, and what one pays whose settings have changed.
fn reloads(place: &std::path::Path, rounds: usize) -> Result<Table> {
    let runtime = runtime(place, RULES)?;
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let before = runtime.policy();
        let begun = Instant::now();
        ensure!(std::sync::Arc::ptr_eq(&before, &runtime.policy()), "settings changed by themselves");
        unchanged.push(begun.elapsed());
        // A name of the same length would do, too: what counts is that it is another file.
        let text = RULES.replacen("gh*", &format!("gh{round}*"), 1);
        let new = place.join("settings.new");
        std::fs::write(&new, text)?;
        std::fs::rename(&new, place.join("settings.json"))?;
        let begun = Instant::now();
        while std::sync::Arc::ptr_eq(&before, &runtime.policy()) {
            ensure!(begun.elapsed() < Duration::from_secs(5), "a change of the settings is not seen");
        }
        changed.push(begun.elapsed());
    }
    let mut table = Table::new("settings that are followed", &["settings", "median", "p90"]);
    for (name, times) in [("unchanged", unchanged), ("changed", changed)] {
        let samples = Samples::new(times).context("nothing was measured")?;
        table.row([
            name.to_owned(),
            format!("{:.0} µs", micros(samples.median())),
            format!("{:.0} µs", micros(samples.p90())),
        ]);
    }
    Ok(table)
}

fn runtime(place: &std::path::Path, settings: &str) -> Result<Runtime> {
    let (workspace, file) = (place.join("ws"), place.join("settings.json"));
    std::fs::create_dir_all(&workspace)?;
    std::fs::write(&file, settings)?;
    let file = SettingsFile {
        path: file,
        layer: Layer::Flag,
        shape: Shape::Native,
        presence: Presence::Named,
        trust: Trust::Untrusted,
    };
    let path = ("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    let built = Runtime::builder()
        .cwd(workspace)
        .environment([path])
        .standard_settings(StandardSettings::ManagedOnly)
        .records(Records::Nowhere)
        .settings(file)
        .build();
    built.context("the policy cannot be made")
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
