//! What must hold once nothing happens any more: liveness, the mirrors, the audit rules.

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_types::{
    MAX_SEQUENCE, SourceKind, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation,
};
use kube::core::ResourceExt;

use super::{Checker, Violation, violates};
use crate::promotion::{Overrule, Phase, conditions_of, controller_uid};
use crate::sim::server::Server;
use crate::store::Key;

/// A store at rest.
pub(in crate::sim) struct AtRest<'a> {
    pub(in crate::sim) server: &'a Server,
    pub(in crate::sim) checker: &'a Checker,
    pub(in crate::sim) now: Timestamp,
}

/// One config and its members, lowest first.
pub(super) struct Flow<'a> {
    pub(super) key: &'a Key<VectorPromotionConfig>,
    pub(super) config: Option<Arc<VectorPromotionConfig>>,
    pub(super) members: Vec<(Arc<VectorPromotion>, Phase)>,
}

impl AtRest<'_> {
    /// S6, P40 to P44 for every flow of `keys`.
    pub(in crate::sim) fn check(&self, keys: &[Key<VectorPromotionConfig>]) -> Result<(), Violation> {
        for key in keys {
            let flow = self.flow(key);
            // What cannot be read stops its own config, and no other.
            if self.check_readable(&flow)? {
                flow.check_members()?;
                flow.check_mirrors()?;
                flow.check_clean_up(self.now)?;
                self.check_target(&flow)?;
            }
        }
        Ok(())
    }

    fn flow<'k>(&self, key: &'k Key<VectorPromotionConfig>) -> Flow<'k> {
        let config =
            self.checker.configs.get(key).filter(|config| config.metadata.deletion_timestamp.is_none()).cloned();
        let owner = config.as_ref().and_then(|config| config.uid());
        let known = self.checker.promotions.values().filter(|known| !known.is_gone);
        let mut members: Vec<_> = known
            .filter(|known| {
                let promotion = &known.promotion;
                promotion.spec.vector_promotion_config_name == key.name()
                    && promotion.namespace().as_deref() == Some(key.namespace())
                    && controller_uid(promotion).is_none_or(|uid| Some(uid) == owner.as_deref())
            })
            .map(|known| (Arc::clone(&known.promotion), known.phase))
            .collect();
        members.sort_by_key(|(promotion, _)| (promotion.spec.sequence, promotion.uid()));
        Flow { key, config, members }
    }

    /// S6: the target has the source's vector, where nothing stands against it.
    fn check_target(&self, flow: &Flow<'_>) -> Result<(), Violation> {
        let Some(config) = &flow.config else { return Ok(()) };
        let is_contested = self.checker.configs.iter().any(|(key, other)| {
            key != flow.key && key.namespace() == flow.key.namespace() && other.spec.target == config.spec.target
        });
        if config.spec.suspend == Some(true) || is_contested {
            return Ok(());
        }
        let Some(target) = self.stage(flow.key.namespace(), &config.spec.target.landscape, &config.spec.target.name)
        else {
            return Ok(());
        };
        let Some(wanted) = self.source(flow.key.namespace(), config).filter(|vector| !vector.is_empty()) else {
            return Ok(());
        };
        let is_exhausted = flow.members.last().is_some_and(|(newest, _)| newest.spec.sequence == MAX_SEQUENCE);
        if is_exhausted
            || flow.is_held(config, &wanted)
            || flow.is_rejected(config, &wanted)
            || target.spec.vector == wanted
        {
            return Ok(());
        }
        let what = format!("{} is at rest, its source has {wanted} and its target {:?}", flow.key, target.spec.vector);
        violates("S6", what)
    }

    fn stage(&self, namespace: &str, landscape: &str, name: &str) -> Option<Arc<Stage>> {
        let managed = self.server.managed(namespace, landscape);
        self.checker.stages.get(&Key::new(managed, name)).cloned()
    }

    fn source(&self, namespace: &str, config: &VectorPromotionConfig) -> Option<String> {
        let source = &config.spec.source;
        if let (SourceKind::Stage, Some(landscape)) = (source.kind, &source.landscape) {
            return self.stage(namespace, landscape, &source.name).map(|stage| stage.spec.vector.clone());
        }
        let template = self.server.store().collection::<VectorTemplate>().get(namespace, &source.name)?;
        template.parse::<VectorTemplate>().ok()?.status.as_ref()?.latest_vector.clone()
    }
}

impl Flow<'_> {
    fn newest(&self, test: impl Fn(&VectorPromotion, Phase) -> bool) -> Option<&Arc<VectorPromotion>> {
        self.members.iter().rev().find(|(promotion, phase)| test(promotion, *phase)).map(|(promotion, _)| promotion)
    }

    fn is_rejected(&self, config: &VectorPromotionConfig, wanted: &str) -> bool {
        let newest = self.members.iter().rev().find(|(promotion, _)| promotion.spec.target == config.spec.target);
        newest.is_some_and(|(promotion, phase)| *phase == Phase::Rejected && promotion.spec.vector == wanted)
    }

    fn is_held(&self, config: &VectorPromotionConfig, wanted: &str) -> bool {
        self.overruled(config).is_some_and(|overrule| overrule.vector == wanted)
    }

    /// P52: whether the newest is needed because it holds against the source.
    pub(super) fn holds(&self, config: &VectorPromotionConfig) -> bool {
        self.overruled(config).is_some()
    }

    fn overruled(&self, config: &VectorPromotionConfig) -> Option<Overrule> {
        let (newest, _) = self.members.last()?;
        let released = config.annotations().get(annotation::RELEASED) == newest.uid().as_ref();
        Overrule::of(newest).filter(|_| !released)
    }

    /// S6: nothing runs, nothing that could run waits, and nothing live is older than what succeeded.
    fn check_members(&self) -> Result<(), Violation> {
        let is_suspended = self.config.as_ref().is_some_and(|config| config.spec.suspend == Some(true));
        let succeeded = self.newest(|_, phase| phase == Phase::Succeeded).map(|newest| newest.spec.sequence);
        for (promotion, phase) in &self.members {
            let name = promotion.name_any();
            let sequence = promotion.spec.sequence;
            if *phase == Phase::InProgress {
                return violates("S6", format!("{name} is in progress for ever"));
            }
            if !phase.is_terminal() && succeeded.is_some_and(|succeeded| sequence <= succeeded) {
                return violates("S6", format!("{name} is {phase:?}, sequence {sequence}, below what succeeded"));
            }
            if *phase == Phase::Ready && !is_suspended {
                return violates("S6", format!("{name} is ready and never starts"));
            }
        }
        Ok(())
    }

    /// P40, P41, R14.
    fn check_mirrors(&self) -> Result<(), Violation> {
        let Some(config) = &self.config else { return Ok(()) };
        let Some(status) = &config.status else {
            return violates("P2", format!("{} has no status", self.key));
        };
        let highest = self.members.last().map_or(0, |(promotion, _)| promotion.spec.sequence);
        if status.sequence.unwrap_or(-1) < highest {
            return violates("R14", format!("{} says sequence {:?}, not {highest}", self.key, status.sequence));
        }
        let has_result =
            |promotion: &VectorPromotion, _| conditions_of(promotion).iter().any(|it| it.type_ == "Succeeded");
        // Without a result in the set the last mirrored one stays, and none is blanked (P42).
        if let Some(acting) = self.newest(has_result)
            && status.last_promotion_conditions != conditions_of(acting)
        {
            return violates("P40", format!("{} does not mirror {}", self.key, acting.name_any()));
        }
        if let Some(succeeded) = self.newest(|_, phase| phase == Phase::Succeeded)
            && status.last_successful_promotion_conditions != conditions_of(succeeded)
        {
            return violates("P41", format!("{} does not mirror {}", self.key, succeeded.name_any()));
        }
        Ok(())
    }
}
