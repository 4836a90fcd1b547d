//! `stockade config`.

mod check;
mod heard;
mod import;
mod show;
mod trust;
mod validate;

use crate::args::ConfigAct;
pub(crate) use heard::Warnings;
use std::process::ExitCode;

/// Shows, checks, trusts or imports settings.
pub(crate) fn main(act: ConfigAct) -> ExitCode {
    match act {
        ConfigAct::Show(args) => show::main(*args),
        ConfigAct::Validate { shape, files } => validate::main(shape.map(Into::into), &files),
        ConfigAct::Trust { list: true, json, .. } => {
            trust::list(if json { trust::Form::Json } else { trust::Form::Text })
        }
        ConfigAct::Trust { files, revoke: true, .. } => trust::revoke(files),
        ConfigAct::Trust { files, .. } => trust::trust(files),
        ConfigAct::Import { from, file, output } => import::main(from, file, output),
    }
}
