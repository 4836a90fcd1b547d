//! A download inside TLS: straight, and with the gateway looking into it.

use crate::grounds::Grounds;
use crate::report::{Report, samples_of};
use crate::tools::{Tool, Tools, on_path};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use stockade_bench::{Contender, Table, race, readable};

const DIRECT: &str = "TLS, direct";
const TERMINATED: &str = "TLS, looked into";
/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn measure(
    tools: &Tools,
    grounds: &Grounds,
    host: IpAddr,
    bytes: usize,
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    if on_path("openssl").is_none() || on_path("curl").is_none() {
        report.skip("Download inside TLS", "openssl or curl is not there");
        return Ok(());
    }
    let server = Server::start(&grounds.home(), host, bytes)?;
    let settings = grounds.home().join("tls.json");
    let text = serde_json::json!({
        "network": {
            "allowedDomains": [server.address.to_string()],
            "tlsTerminate": { "hosts": [host.to_string()] },
        },
    });
    std::fs::write(&settings, text.to_string()).context("could not write settings")?;
    let time = |tool: &Tool, certificates: &str| {
        let url = format!("https://{}/big", server.address);
        let argv = ["curl", "-sS", "-o", "/dev/null", "--cacert", certificates, "-w", "%{time_total}", &url];
        let options = ["-q".as_ref(), "--settings".as_ref(), settings.as_os_str()];
        let mut command = tool.command_with(grounds, &grounds.workspace(), &options, &argv);
        command.env("SSL_CERT_FILE", &server.certificate);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
        let seconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        Ok(Duration::from_secs_f64(seconds))
    };
    let own = server.certificate.to_str().context("a strange path")?;
    let contenders = vec![
        Contender::with_own_clock(DIRECT, || time(&Tool::Bare, own)).long(),
        Contender::with_own_clock(TERMINATED, || time(&tools.stockade, "/dev/stockade/ca.pem")).long(),
    ];
    let laps = race(rounds, Duration::ZERO, contenders);
    let direct = samples_of(&laps, DIRECT);
    let mut table = Table::new(
        format!("Download of {} MiB inside TLS", bytes >> 20),
        &["what", "median", "speed, × direct"],
    );
    for lap in &laps {
        if let Ok(samples) = &lap.result {
            let ratio =
                direct.map_or_else(|| "-".to_owned(), |direct| format!("{:.2}", direct.ratio(samples)));
            table.row([lap.name.clone(), readable(samples.median()), ratio]);
        }
    }
    report.print(&table, &laps);
    let slower = samples_of(&laps, TERMINATED).zip(direct).map(|(ours, direct)| ours.ratio(direct));
    report.promise("download, TLS looked into: time, × direct TLS", 4.0, slower);
    Ok(())
}

/// openssl's own server, with one large file.
struct Server {
    address: SocketAddr,
    certificate: PathBuf,
    process: Child,
}

impl Server {
    fn start(place: &Path, host: IpAddr, bytes: usize) -> Result<Self> {
        File::create(place.join("big"))?.set_len(bytes as u64)?;
        let (certificate, key) = (place.join("server.pem"), place.join("server.key"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=bench"])
            .args(["-addext", &format!("subjectAltName=IP:{host}")])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .stderr(Stdio::null())
            .status()?;
        ensure!(made.success(), "openssl could not make a certificate");
        // A port that was free a moment ago.
        let address = TcpListener::bind((host, 0))?.local_addr()?;
        let process = Command::new("openssl")
            .args(["s_server", "-quiet", "-WWW", "-accept", &address.to_string()])
            .arg("-cert")
            .arg(&certificate)
            .arg("-key")
            .arg(&key)
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("could not start openssl")?;
        let server = Self { address, certificate, process };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(begin.elapsed() < PATIENCE, "openssl does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
