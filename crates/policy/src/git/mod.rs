//! What a sandboxed command may put into a git repository.
//!
//! The host's git will read it with the user's rights, and many things in it name programs or lead to other
//! directories. These checks look at content only; whether a name on the way is a symbolic link is for the
//! caller to find out.

mod addresses;
mod change;
mod config;
mod index;
mod keys;
mod lead;
mod parse;
mod path;
mod places;
mod pointer;
mod program;
mod refusal;
mod state;
#[cfg(test)]
mod tests;
mod url;
mod value;
mod worktree;

pub use addresses::git_config_addresses;
pub use change::check_git_config_change;
pub use config::{check_git_config, git_config_values};
pub(crate) use index::is_git_index;
pub use index::{ObjectFormat, check_git_index, git_index_names, settled_git_index};
pub(crate) use keys::GitKeys;
pub(crate) use lead::{Lead, LeadKind, git_config_leads};
pub use places::GitPlaces;
pub use pointer::{check_git_pointer, check_worktree_commondir, check_worktree_pointer};
pub use refusal::GitRefusal;
pub(crate) use state::is_git_state;
pub use state::{check_git_state, git_conflicts};
pub(crate) use worktree::git_config_worktrees;
pub use worktree::{git_config_with_relative_worktree, git_config_worktree, git_module_owner};
