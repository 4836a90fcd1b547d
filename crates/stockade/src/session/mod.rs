//! Sessions: a sandbox that stays, with a shell in it that keeps its state from one command to the next.
//!
//! ```text
//! launcher                              shell (in the sandbox)              command
//!   turn: "open the pipes, wait" ─────▶ opens stdout and stderr by name
//!   order: text, input, NUL ──────────▶ eval "$text" <input >&21 2>&22 ───▶ runs
//!   ◀═══════════════════════════════════ output, through the pipes ═════════
//!   ◀─ "E status cwd turn" ──────────── pipes closed again
//!   next turn ────────────────────────▶ …
//! ```
//!
//! - **The shell's script is a socket.** It is its standard input; while a command runs it is kept aside under
//!   a number that programs do not inherit. A socket cannot be opened through /proc, and the kernel tells who
//!   wrote each message: nobody but the shell can say that a command is over. Text that runs *in* the shell is
//!   the shell, and could: of itself, and by a trap that it leaves behind and that finds the name of a later
//!   turn in the shell's memory, of others. Forks of the shell can read from the socket; that is noticed.
//! - **Each command has its own pipes.** Nothing that a command left behind can write into the next one's
//!   output or read its input. Pipes come by name, through a directory that is shown inside and that nobody can
//!   list or change; a shell cannot be handed descriptors in any other way. They are used again for the next
//!   command only if nobody has them open any more, which their end shows.
//! - **Input is a pipe only if there is input.** Otherwise it is /dev/null: programs such as search tools look
//!   at what kind of file they are given.
//! - **The slow part comes early.** A broker holds every open for writing. The shell opens the pipes of its
//!   next command when the last one is over, not when the next one comes.
//! - **No `.` of a file, but `eval`.** A file would show in every error message, make `return` work where it
//!   must not, and cost two more opens. Only long texts come by file, because a shell reads what is not a
//!   file byte by byte.
//! - **Ending a command leaves its shell.** `make; make install` must not go on with the second part when the
//!   first one is killed, and only a shell that is interactive drops the rest of a text by itself. So the shell
//!   gets a signal beside the command's processes, and a trap of the driver's has it skip what is left. A shell
//!   that does not come to its end that way is ended. It says where it is and what it exports on its way out,
//!   and the next one begins with that. What other commands left running goes on.
//! - **What a shell knows is asked for when it has nothing to do**, so that little is lost when it is killed.
//!   Asking costs a line for each variable, too much to do it after every command.
//! - **Redirections by `exec` last as long as their command** where they concern 0, 1 and 2, and what a trap of
//!   a command prints when its shell exits goes nowhere: both are undone by then.

mod apart;
mod background;
mod channel;
mod directory;
mod driver;
mod ending;
mod entry;
mod error;
mod handle;
mod house;
mod live;
mod memory;
mod options;
mod output;
mod post;
mod processes;
mod run;
mod seat;
mod shelf;
mod shell;
mod state;
mod stop;
mod tender;
mod told;
mod turn;
mod walls;

pub use background::{BackgroundChunk, BackgroundId, BackgroundOutput, BackgroundState, BackgroundStream};
pub use error::SessionError;
pub use handle::Session;
pub(crate) use house::Lasting;
pub(crate) use options::Routing;
pub use options::{SessionCommand, SessionInput, SessionOptions};
pub use run::{Canceller, SessionRun};
pub use told::WITHOUT_WALLS;
pub(crate) use turn::Turn;
