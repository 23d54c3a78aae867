//! Why a command did not do what was asked, and the exit code that says so to scripts.

use konfidence_sdk::promotion::Refusal;
use konfidence_sdk::store::StoreError;

/// The end of a command that did not do what was asked. Its text names the object and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Anything that is not one of the others.
    #[error("{0}")]
    Other(String),
    /// The command line itself makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The rules or the server say no.
    #[error("{0}")]
    Refused(String),
    /// There is no such object.
    #[error("{0}")]
    NotFound(String),
    /// What was waited for did not happen in time.
    #[error("{0}")]
    TimedOut(String),
    /// The promotion that was waited for ended without success.
    #[error("{0}")]
    Unsuccessful(String),
    /// Nobody reads what is printed any more.
    #[error("stdout is closed")]
    Unread,
}

impl Failure {
    /// For everything that has a text and no code of its own.
    pub(crate) fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// The exit code, as `konfidence --help` lists it.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Other(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::NotFound(_) => 4,
            Self::TimedOut(_) => 5,
            Self::Unsuccessful(_) => 6,
            // What a shell reports of a program that SIGPIPE ended, which is how others end here.
            Self::Unread => 141,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Self::NotFound(error.to_string()),
            StoreError::Unavailable { object, message, .. } => {
                Self::Other(format!("no certain answer about {object}: {message}; look before you try it again"))
            }
            _ if error.is_refusal() => Self::Refused(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Store(error) => error.into(),
            Refusal::PromotionNotFound { .. } | Refusal::ConfigNotFound { .. } => Self::NotFound(refusal.to_string()),
            Refusal::Anonymous { .. } | Refusal::NoVector { .. } => Self::Usage(refusal.to_string()),
            _ => Self::Refused(refusal.to_string()),
        }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 404 => Self::NotFound(status.message),
            kube::Error::Api(status) if matches!(status.code, 401 | 403 | 409 | 422) => Self::Refused(status.message),
            kube::Error::Api(status) => Self::Other(status.message),
            other => Self::Other(told(&other)),
        }
    }
}

/// An error with all that is below it in one line, each once: outer ones often say no more than that something failed.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = first_line(&error.to_string()).to_owned();
    let mut below = error.source();
    while let Some(error) = below {
        let next = error.to_string();
        let next = first_line(&next);
        if !text.contains(next) {
            text = format!("{text}: {next}");
        }
        below = error.source();
    }
    text
}

/// Where a text goes on for more lines, it shows where in a file the error is.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
