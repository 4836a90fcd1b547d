//! What the gateway costs: downloads, new connections, idle ones.

mod client;
mod server;
mod tls;

use crate::grounds::Grounds;
use crate::report::{Report, samples_of};
use crate::tools::{Tool, Tools};
use anyhow::{Context, Result, ensure};
use client::Way;
pub(crate) use client::{WORD, main as client};
use server::Server;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use stockade_bench::{Contender, Lap, Table, family, race, readable};

/// What is downloaded.
const DOWNLOAD: usize = 200 << 20;
/// Connections that are timed in one turn.
const CONNECTIONS: usize = 500;
/// Connections that do nothing.
const IDLE: usize = 5_000;

/// One way to a server, in or out of a sandbox.
struct Route<'a> {
    name: &'static str,
    tool: &'a Tool,
    way: Way,
    to: SocketAddr,
}

pub(crate) fn measure(tools: &Tools, grounds: &Grounds, rounds: usize, report: &mut Report) -> Result<()> {
    let server = match Server::start() {
        Ok(server) => server,
        Err(error) => {
            report.skip("Network", &format!("{error:#}"));
            return Ok(());
        }
    };
    let settings = srt_settings(grounds, &server)?;
    let inside = |name, way| Route { name, tool: &tools.stockade, way, to: server.address };
    let mut routes = vec![
        Route { name: "direct", tool: &Tool::Bare, way: Way::Plain, to: server.address },
        Route { name: RELAY, tool: &Tool::Bare, way: Way::Plain, to: server.relay },
        inside("transparent", Way::Plain),
        inside("HTTP proxy", Way::Http),
        inside("CONNECT", Way::Connect),
        inside("SOCKS", Way::Socks),
    ];
    if let Some(tool) = &tools.srt {
        routes.push(Route { name: SRT, tool, way: Way::Connect, to: server.address });
    }
    downloads(&routes, grounds, &settings, rounds, report);
    tls::measure(tools, grounds, server.address.ip(), DOWNLOAD, rounds, report)?;
    connections(&routes, grounds, &settings, rounds, report);
    idle(&routes, grounds, &settings, report);
    starts(tools, grounds, rounds, report);
    Ok(())
}

const RELAY: &str = "two-thread relay";
const SRT: &str = "srt, CONNECT";

fn downloads(routes: &[Route<'_>], grounds: &Grounds, settings: &Path, rounds: usize, report: &mut Report) {
    let contenders = routes.iter().map(|route| {
        let act = move || {
            let said = route.run(grounds, settings, "download", DOWNLOAD)?;
            Ok(Duration::from_nanos(said.trim().parse().context("the client did not say how long")?))
        };
        let contender = Contender::with_own_clock(route.name, act).long();
        if route.name == SRT { contender.seldom(5) } else { contender }
    });
    let laps = race(rounds, Duration::ZERO, contenders.collect());
    let (direct, relay) = (samples_of(&laps, "direct"), samples_of(&laps, RELAY));
    let mut table = Table::new(
        format!("Download of {} MiB", DOWNLOAD >> 20),
        &["what", "median", "MB/s", "speed, × direct", "speed, × relay", "runs"],
    );
    for lap in &laps {
        let Ok(samples) = &lap.result else { continue };
        let against = |other: Option<&stockade_bench::Samples>| {
            other.map_or_else(|| "-".to_owned(), |other| format!("{:.2}", other.ratio(samples)))
        };
        table.row([
            lap.name.clone(),
            readable(samples.median()),
            format!("{:.0}", DOWNLOAD as f64 / 1e6 / samples.median().as_secs_f64()),
            against(direct),
            against(relay),
            samples.count().to_string(),
        ]);
    }
    report.print(&table, &laps);
    // Promises are "at most": so many times as long as the relay.
    let slower = |name| Some(samples_of(&laps, name)?.ratio(relay?));
    for (name, speed) in [("transparent", 0.9), ("CONNECT", 0.9), ("SOCKS", 0.9), ("HTTP proxy", 0.8)] {
        report.promise(format!("download, {name}: time, × relay"), 1.0 / speed, slower(name));
    }
    let srt = samples_of(&laps, SRT);
    for name in ["transparent", "CONNECT", "SOCKS", "HTTP proxy"] {
        let measured = samples_of(&laps, name).zip(srt).map(|(ours, srt)| ours.ratio(srt));
        report.promise(format!("download, {name}: time, × srt"), 0.2, measured);
    }
}

fn connections(routes: &[Route<'_>], grounds: &Grounds, settings: &Path, rounds: usize, report: &mut Report) {
    let mut table =
        Table::new("One new connection, a byte there and back", &["what", "p50", "p99", "a second"]);
    let mut medians: Vec<(&str, Duration)> = Vec::new();
    let mut failed: Vec<Lap> = Vec::new();
    for route in routes.iter().filter(|route| !matches!(route.way, Way::Http)) {
        let mut seen: Vec<(Duration, Duration)> = Vec::new();
        for _ in 0..rounds.clamp(3, 9) {
            match route.run(grounds, settings, "connections", CONNECTIONS).and_then(|said| two(&said)) {
                Ok(times) => seen.push(times),
                Err(error) => {
                    failed.push(Lap { name: route.name.to_owned(), result: Err(format!("{error:#}")) });
                    break;
                }
            }
        }
        seen.sort_unstable();
        let Some((p50, p99)) = seen.get(seen.len() / 2).copied() else { continue };
        let rate = 1.0 / p50.as_secs_f64();
        table.row([route.name.to_owned(), readable(p50), readable(p99), format!("{rate:.0}")]);
        medians.push((route.name, p50));
    }
    report.print(&table, &failed);
    let of =
        |name| medians.iter().find(|(known, _)| *known == name).map(|(_, time)| time.as_secs_f64() * 1e3);
    for name in ["transparent", "CONNECT", "SOCKS"] {
        let more = of(name).zip(of("direct")).map(|(ours, direct)| ours - direct);
        report.promise(format!("new connection, {name}: ms more at p50"), 0.5, more);
    }
}

fn idle(routes: &[Route<'_>], grounds: &Grounds, settings: &Path, report: &mut Report) {
    let Some(route) = routes.iter().find(|route| route.name == "transparent") else { return };
    let measured = held(route, grounds, settings, 1)
        .and_then(|few| held(route, grounds, settings, IDLE).map(|many| many.saturating_sub(few)));
    match measured {
        Ok(more) => {
            let megabytes = more as f64 / 1000.0;
            let mut table = Table::new("Idle connections", &["how many", "memory more", "each"]);
            let each = format!("{:.1} KiB", more as f64 / IDLE as f64);
            table.row([IDLE.to_string(), format!("{megabytes:.1} MB"), each]);
            report.print(&table, &[]);
            report.promise(format!("{IDLE} idle connections, MB"), 100.0, Some(megabytes));
        }
        Err(error) => report.skip("Idle connections", &format!("{error:#}")),
    }
}

/// KiB that the sandbox's own processes hold while so many connections are open.
fn held(route: &Route<'_>, grounds: &Grounds, settings: &Path, count: usize) -> Result<u64> {
    let mut command = route.command(grounds, settings, "idle", count)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let output = child.stdout.take().context("no output")?;
    let read = BufReader::new(output).read_line(&mut line);
    let looked = read.context("the client said nothing").and_then(|_| {
        ensure!(line.trim() == count.to_string(), "the client could not open them all: {line:?}");
        family(child.id(), &program_name()?)
    });
    drop(child.stdin.take());
    child.wait()?;
    Ok(looked?.pss_kib)
}

/// What a sandbox with a gateway takes longer to start.
fn starts(tools: &Tools, grounds: &Grounds, rounds: usize, report: &mut Report) {
    let tool = &tools.stockade;
    let start = |options: &'static [&'static str]| {
        move || {
            let options: Vec<_> = options.iter().map(std::ffi::OsStr::new).collect();
            let mut command = tool.command_with(grounds, &grounds.workspace(), &options, &["/bin/true"]);
            crate::tools::succeed(&mut command)
        }
    };
    let laps = race(
        rounds * 10,
        Duration::ZERO,
        vec![
            Contender::new("without the gateway", start(&[])),
            Contender::new("with the gateway", start(&["--allow-domain", "192.0.2.1"])),
        ],
    );
    let mut table = Table::new("Start of `true`", &["what", "median", "p90"]);
    for lap in &laps {
        if let Ok(samples) = &lap.result {
            table.row([lap.name.clone(), readable(samples.median()), readable(samples.p90())]);
        }
    }
    report.print(&table, &laps);
    let median = |name| samples_of(&laps, name).map(|samples| samples.median().as_secs_f64() * 1e3);
    let more =
        median("with the gateway").zip(median("without the gateway")).map(|(with, without)| with - without);
    report.promise("gateway: start, ms more", 1.0, more);
}

impl Route<'_> {
    fn run(&self, grounds: &Grounds, settings: &Path, act: &str, number: usize) -> Result<String> {
        let output = self
            .command(grounds, settings, act, number)?
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, grounds: &Grounds, settings: &Path, act: &str, number: usize) -> Result<Command> {
        let program = std::env::current_exe().context("could not find this program")?;
        let program = program.to_str().context("this program has a strange name")?.to_owned();
        let (target, number) = (self.to.to_string(), number.to_string());
        let argv = [program.as_str(), WORD, act, self.way.word(), &target, &number];
        let host = self.to.to_string();
        let directory = grounds.workspace();
        Ok(match (self.tool, self.way) {
            (Tool::Stockade(_), Way::Plain) => {
                let options = ["--allow-domain".as_ref(), host.as_ref(), "-q".as_ref()];
                self.tool.command_with(grounds, &directory, &options, &argv)
            }
            // Only srt's users know about proxies: their settings, their front.
            (Tool::Stockade(path), _) => {
                let front = Tool::Srt(srt_front(grounds, path)?);
                front.command_with(grounds, &directory, &["-s".as_ref(), settings.as_ref()], &argv)
            }
            (tool, _) => tool.command_with(grounds, &directory, &["-s".as_ref(), settings.as_ref()], &argv),
        })
    }
}

/// The same binary under the name that makes it srt.
fn srt_front(grounds: &Grounds, stockade: &Path) -> Result<PathBuf> {
    let link = grounds.home().join("srt");
    if !link.exists() {
        std::os::unix::fs::symlink(stockade, &link).context("could not link the command line")?;
    }
    Ok(link)
}

fn srt_settings(grounds: &Grounds, server: &Server) -> Result<PathBuf> {
    let path = grounds.home().join("network.json");
    let settings = serde_json::json!({
        "network": { "allowedDomains": [server.address.ip().to_string()], "deniedDomains": [] },
        "filesystem": { "denyRead": [], "allowWrite": [], "denyWrite": [] },
    });
    std::fs::write(&path, settings.to_string()).context("could not write srt's settings")?;
    Ok(path)
}

fn program_name() -> Result<String> {
    let program = std::env::current_exe()?;
    let name =
        program.file_name().and_then(|name| name.to_str()).context("this program has a strange name")?;
    // The kernel keeps fifteen letters.
    Ok(name.chars().take(15).collect())
}

fn two(said: &str) -> Result<(Duration, Duration)> {
    let (p50, p99) = said.trim().split_once(' ').context("the client did not say how long")?;
    Ok((Duration::from_nanos(p50.parse()?), Duration::from_nanos(p99.parse()?)))
}
