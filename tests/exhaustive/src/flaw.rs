//! The machinery broken on purpose, one rule at a time, without touching a decision: the server lies to the controllers.
//! Each flaw must give a violation, or the search cannot fail.

use konfidence_types::annotation;

use crate::answer::Request;
use crate::server::{Effect, Refused, carry_out};
use crate::shelf::{Kind, View};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Flaw {
    /// None is.
    #[default]
    None,
    /// P23, T9: a Stage is written whatever version it has.
    StageWithoutVersion,
    /// P23: promotions are written whatever version they have.
    PromotionWithoutVersion,
    /// R7, T5: the fence is answered and not written.
    NoFence,
    /// R7, T6: the fence does not name the version of the promotion.
    FenceWithoutVersion,
    /// R6, T7: a resumption does not write the promotion.
    NoAttempt,
    /// R11 to R13: what should be read live comes from the view.
    LiveReadsFromCache,
}

impl Flaw {
    pub(crate) fn ignores_version(self, kind: Kind) -> bool {
        match self {
            Self::StageWithoutVersion => kind == Kind::Stage,
            Self::PromotionWithoutVersion => kind == Kind::Promotion,
            _ => false,
        }
    }

    /// Carries out the request as far as the flaw lets it.
    pub(crate) fn carry_out(self, live: &View, request: &Request) -> Result<Effect, Refused> {
        let Request::Patch { kind, namespace, name, expected, merge, scope } = request else {
            return carry_out(live, request);
        };
        let annotations = &merge["metadata"]["annotations"];
        let fence = annotations[annotation::FENCED].as_str();
        let is_attempt = annotations.get(annotation::ATTEMPT).is_some();
        let current = live.of(*kind).get(namespace, name).ok_or(Refused::NotFound)?;
        let untouched = || Effect {
            kind: *kind,
            before: Some(current.clone()),
            after: Some(current.clone()),
            shelf: live.of(*kind).clone(),
        };
        if self.ignores_version(*kind) {
            return crate::server::patch(live, *kind, current, merge, *scope);
        }
        match self {
            Self::NoFence if fence.is_some() => Ok(untouched()),
            Self::NoAttempt if is_attempt && current.version == *expected => Ok(untouched()),
            Self::FenceWithoutVersion => {
                let mut merge = merge.clone();
                if let Some((uid, _)) = fence.and_then(|fence| fence.split_once('@')) {
                    merge["metadata"]["annotations"][annotation::FENCED] = uid.into();
                }
                let (namespace, name, expected) = (namespace.clone(), name.clone(), expected.clone());
                carry_out(live, &Request::Patch { kind: *kind, namespace, name, expected, merge, scope: *scope })
            }
            _ => carry_out(live, request),
        }
    }
}
