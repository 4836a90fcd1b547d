//! Why a path entry was refused.

/// Reading a path entry failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Nothing at all.
    #[error("a path cannot be empty")]
    Empty,
    /// A NUL byte.
    #[error("a path cannot hold a NUL character")]
    Nul,
    /// `~somebody`.
    #[error("{0} names another user's home directory, which is not looked up")]
    OtherHome(String),
    /// `~` without HOME.
    #[error("~ is used and HOME is not set")]
    NoHome,
    /// `$VAR` that is not set.
    #[error("the variable {0} is not set")]
    UndefinedVariable(String),
    /// `$VAR` with bytes that are no text.
    #[error("the variable {0} is not UTF-8 text")]
    OddVariable(String),
    /// `${` without `}`.
    #[error("a ${{ is not closed")]
    OpenVariable,
    /// `{` without `}`.
    #[error("a {{ is not closed")]
    OpenBrace,
    /// `{a,b}{c,d}...`
    #[error("the braces unfold to more than {most} paths")]
    TooManyAlternatives {
        /// The limit.
        most: usize,
    },
    /// `*/../x`.
    #[error(".. cannot follow a wildcard")]
    UpAfterWildcard,
    /// A deny glob that ends in `/`, in srt's shape.
    #[error("the glob ends in a separator and would match nothing")]
    EndsInSeparator,
}

impl PatternError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "write a path, or remove the entry",
            Self::Nul => "remove the character",
            Self::OtherHome(_) => "write the directory out: /home/...",
            Self::NoHome => "set HOME, or write the path out",
            Self::UndefinedVariable(_) => {
                "set it, write the path out, or use {\"path\": \"...\", \"literal\": true} for a name with a $"
            }
            Self::OddVariable(_) => "write the path out",
            Self::OpenVariable => {
                "close it, or use {\"path\": \"...\", \"literal\": true} for a name with a $"
            }
            Self::OpenBrace => "close it, or use {\"path\": \"...\", \"literal\": true} for a name with a {",
            Self::TooManyAlternatives { .. } => "write several entries",
            Self::UpAfterWildcard => "write the pattern from the directory that is meant",
            Self::EndsInSeparator => "remove the / at the end",
        }
    }
}
