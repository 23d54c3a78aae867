//! What a reference did not resolve to, and how that is told (P2).

use std::fmt;

use konfidence_types::{Landscape, ReadyReason, Stage, VectorTemplate};

use crate::store::{Key, ObjectRef};

/// The object that a reference needs and that is not there. One that is being deleted counts as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No Landscape of that name in the project's namespace.
    Landscape(Key<Landscape>),
    /// The Landscape has no managed namespace yet.
    ManagedNamespace(Key<Landscape>),
    /// The target Stage.
    Stage(Key<Stage>),
    /// The template that is the source.
    SourceTemplate(Key<VectorTemplate>),
    /// The Stage that is the source.
    SourceStage(Key<Stage>),
    /// It is there and does not parse: waited for, never guessed at.
    Unreadable(ObjectRef),
}

impl Missing {
    /// What is the matter, said of the object that is meant.
    pub(super) fn predicate(&self) -> &'static str {
        match self {
            Self::Landscape(_) => "its landscape does not exist",
            Self::ManagedNamespace(_) => "its landscape is not ready",
            Self::Stage(_) | Self::SourceTemplate(_) | Self::SourceStage(_) => "does not exist",
            Self::Unreadable(_) => "cannot be read",
        }
    }

    /// The reason of `Ready=False`.
    pub fn reason(&self) -> ReadyReason {
        match self {
            Self::Landscape(_) => ReadyReason::LandscapeNotFound,
            Self::ManagedNamespace(_) => ReadyReason::LandscapeNotReady,
            Self::Stage(_) => ReadyReason::StageNotFound,
            Self::SourceTemplate(_) | Self::SourceStage(_) => ReadyReason::SourceNotFound,
            Self::Unreadable(_) => ReadyReason::ObjectUnreadable,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landscape(key) => {
                write!(f, "Landscape {} does not exist in namespace {}", key.name(), key.namespace())
            }
            Self::ManagedNamespace(key) => {
                write!(f, "Landscape {} in namespace {} has no managed namespace yet", key.name(), key.namespace())
            }
            Self::Stage(key) => write!(f, "Stage {} does not exist in namespace {}", key.name(), key.namespace()),
            Self::SourceTemplate(key) => {
                write!(f, "source VectorTemplate {} does not exist in namespace {}", key.name(), key.namespace())
            }
            Self::SourceStage(key) => {
                write!(f, "source Stage {} does not exist in namespace {}", key.name(), key.namespace())
            }
            Self::Unreadable(object) => write!(
                f,
                "{object} does not parse; a newer version or a broken schema wrote it: correct it, or upgrade Konfidence"
            ),
        }
    }
}
