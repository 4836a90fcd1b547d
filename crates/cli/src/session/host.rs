//! `stockade __host`: the process a session lives in.

use super::made::{Maker, Word};
use super::place;
use crate::args::{HostOnly, NewArgs};
use crate::config::Warnings;
use crate::run::Signals;
use crate::sys;
use crate::voice::Level;
use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use stockade::{
    Claim, Host, HostOptions, Lifetime, NoticeWeight, Session, SessionName, SessionOptions, SessionPlace,
};

/// Hosts a session. The words are: who made it, its name, and the options it is made with.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    sys::outlive_file_size_limit();
    let words: Vec<OsString> = words.collect();
    let told = |at: usize| words.get(at).and_then(|word| word.to_str());
    let name = told(1).and_then(|name| name.parse::<SessionName>().ok());
    let maker = [Maker::Shell, Maker::New].into_iter().find(|maker| told(0) == Some(maker.word()));
    let (Some(name), Some(maker)) = (name, maker) else { return ExitCode::FAILURE };
    if let Err(error) = sys::forget_descriptors().and_then(|()| sys::leave()) {
        say(&Word::Error(format!("cannot leave the terminal: {error}")));
        return ExitCode::FAILURE;
    }
    let words = std::iter::once(OsString::from("__host")).chain(words.into_iter().skip(2));
    let args = match HostOnly::try_parse_from(words) {
        Ok(only) => only.args.new,
        Err(error) => {
            say(&Word::Error(error.to_string()));
            return ExitCode::FAILURE;
        }
    };
    let place = place();
    leave_last_words(&place, &name);
    let result = super::wait(async { Ok(host(&place, &name, args, maker).await) });
    let words = match result.map_err(|error| error.to_string()).and_then(|result| result) {
        Ok(words) => words,
        Err(error) => {
            say(&Word::Error(error.clone()));
            error
        }
    };
    // There is nobody else to tell.
    let _ = place.note(&name, &words);
    ExitCode::SUCCESS
}

async fn host(
    place: &SessionPlace,
    name: &SessionName,
    args: NewArgs,
    maker: Maker,
) -> Result<String, String> {
    let mut signals = Signals::new().map_err(|error| error.to_string())?;
    let idle = Duration::from_millis(args.idle);
    // Before anything is built: two who want the same name must not both build.
    let claim = place.claim(name.clone()).map_err(|error| error.to_string())?;
    let session = tokio::select! {
        session = open(args) => session?,
        signal = signals.next() => return Err(format!("signal {signal} ended it before it was ready")),
    };
    let options = HostOptions {
        workspace: session.cwd(),
        idle: Some(idle),
        lifetime: match maker {
            Maker::Shell => Lifetime::Terminal,
            Maker::New => Lifetime::Own,
        },
    };
    let host = ready(place, claim, session, options)?;
    let ending = host.serve(async move { signals.next().await }).await;
    Ok(ending.to_string())
}

async fn open(args: NewArgs) -> Result<Session, String> {
    let NewArgs { provider, engine, policy, .. } = args;
    let runtime = policy.runtime(|mut builder| {
        if let Some(kind) = provider {
            builder = builder.provider(kind);
        }
        if let Some(name) = engine {
            builder = builder.engine(name);
        }
        builder
    });
    let runtime = Arc::new(runtime.map_err(|error| error.to_string())?);
    let mut warnings = Warnings::of(&runtime, Level::Normal);
    for notice in runtime.policy().notices() {
        if notice.weight == NoticeWeight::Warning
            && let Some(text) = warnings.word(notice)
        {
            say(&Word::Warning(text));
        }
    }
    let session = Session::open(Arc::clone(&runtime), SessionOptions::default()).await;
    let session = session.map_err(|error| error.to_string())?;
    for fault in runtime.record_faults() {
        say(&Word::Warning(fault.to_string()));
    }
    if session.network().is_some() {
        sys::want_many_descriptors();
    }
    Ok(session)
}

/// From here on nobody but clients is told anything.
fn ready(place: &SessionPlace, claim: Claim, session: Session, options: HostOptions) -> Result<Host, String> {
    let name = claim.name().clone();
    let host = Host::new(place, claim, session, options).map_err(|error| error.to_string())?;
    // The directory is somebody's to remove or to unmount.
    let _ = std::env::set_current_dir("/");
    if !say(&Word::Ready(name)) {
        return Err("whoever made it went away".to_owned());
    }
    sys::silence().map_err(|error| error.to_string())?;
    Ok(host)
}

/// Tells whoever started us. Whether anybody hears it.
fn say(word: &Word) -> bool {
    let mut line = serde_json::to_vec(word).unwrap_or_default();
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).is_ok()
}

fn leave_last_words(place: &SessionPlace, name: &SessionName) {
    let (place, name) = (place.clone(), name.clone());
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = place.note(&name, &format!("it failed: {panic}"));
        earlier(panic);
    }));
}
