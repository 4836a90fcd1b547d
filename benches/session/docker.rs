//! A container that is there already, for `docker exec`: of an engine of our own, so that nobody's containers
//! are touched and nothing is left.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that is many, and needs no library.
const BUSYBOX: &str = "/bin/busybox";
/// An engine is there after about two seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// An engine with one container.
pub(crate) struct Container {
    engine: Child,
    socket: String,
    id: String,
}

impl Container {
    /// Starts an engine in this directory, and a container in it.
    pub(crate) fn start(place: &Path) -> Result<Self> {
        ensure!(Path::new(BUSYBOX).exists(), "there is no {BUSYBOX} to make an image of");
        let at = |name: &str| place.join(name);
        std::fs::create_dir_all(place)?;
        let socket = format!("unix://{}", at("socket").display());
        let engine = Command::new("dockerd")
            .args(["--bridge", "none", "--iptables=false", "--ip6tables=false", "-H", &socket])
            .args([option("--data-root", at("data")), option("--exec-root", at("exec"))])
            .arg(option("--pidfile", at("pid")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(at("log"))?)
            .spawn()
            .context("there is no dockerd")?;
        let mut container = Self { engine, socket, id: String::new() };
        container.wait()?;
        let root = at("root/bin");
        std::fs::create_dir_all(&root)?;
        std::fs::copy(BUSYBOX, root.join("busybox"))?;
        std::os::unix::fs::symlink("busybox", root.join("true"))?;
        let image = at("image.tar");
        let packed =
            Command::new("tar").arg("-C").arg(at("root")).arg("-cf").arg(&image).arg(".").status()?;
        ensure!(packed.success(), "tar ended with {packed}");
        container.docker(&["import", &image.to_string_lossy(), "bench"])?;
        let sleeper = ["run", "-d", "--network", "none", "bench", BUSYBOX, "sleep", "100000"];
        container.id = container.docker(&sleeper)?.trim().to_owned();
        Ok(container)
    }

    /// Runs a program in the container.
    pub(crate) fn exec(&self, program: &str) -> Result<()> {
        self.docker(&["exec", &self.id, program]).map(drop)
    }

    fn wait(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while self.docker(&["info"]).is_err() {
            if let Some(status) = self.engine.try_wait()? {
                bail!("dockerd ended with {status}");
            }
            ensure!(Instant::now() < end, "dockerd does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn docker(&self, words: &[&str]) -> Result<String> {
        let done = Command::new("docker").args(["-H", &self.socket]).args(words).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "docker {} said {said}", words.join(" "));
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }
}

fn option(name: &str, path: PathBuf) -> String {
    format!("{name}={}", path.display())
}

impl Drop for Container {
    fn drop(&mut self) {
        // Whatever fails here, the engine ends, and its containers with it.
        let _ = self.docker(&["rm", "-f", &self.id]);
        let _ = Command::new("kill").arg(self.engine.id().to_string()).status();
        let _ = self.engine.wait();
    }
}
