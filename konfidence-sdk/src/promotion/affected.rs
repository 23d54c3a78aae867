//! Which configs a changed object touches: reverse look-ups by index, no polling (P3, P6, C3).

use std::collections::BTreeSet;

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use kube::core::ResourceExt;

use super::PromotionStore;
use crate::store::{
    BY_LANDSCAPE, BY_MANAGED_NAMESPACE, BY_PROMOTED_STAGE, BY_SOURCE_STAGE, BY_SOURCE_TEMPLATE, BY_TARGET_STAGE, Key,
    Listed, Query, StoreError,
};

/// The units of serialization that a change touches.
pub type Keys = BTreeSet<Key<VectorPromotionConfig>>;

/// A config touches itself.
pub fn affected_by_config(config: &VectorPromotionConfig) -> Keys {
    Keys::from([Key::of(config)])
}

/// A promotion touches the config that it names, whether or not that exists.
pub fn affected_by_promotion(promotion: &VectorPromotion) -> Keys {
    let namespace = promotion.namespace().unwrap_or_default();
    Keys::from([Key::new(namespace, &promotion.spec.vector_promotion_config_name)])
}

/// A template touches the configs whose source it is.
pub async fn affected_by_template<S: PromotionStore + ?Sized>(
    store: &S,
    template: &VectorTemplate,
) -> Result<Keys, StoreError> {
    let namespace = template.namespace().unwrap_or_default();
    configs(store, Query::within(namespace).by(BY_SOURCE_TEMPLATE, template.name_any())).await
}

/// A Landscape touches every config of its namespace that refers to it, and every promotion that does.
pub async fn affected_by_landscape<S: PromotionStore + ?Sized>(
    store: &S,
    landscape: &Landscape,
) -> Result<Keys, StoreError> {
    let (namespace, name) = (landscape.namespace().unwrap_or_default(), landscape.name_any());
    let mut keys = configs(store, Query::within(&namespace).by(BY_LANDSCAPE, &name)).await?;
    keys.extend(promotions(store, Query::within(&namespace).by(BY_LANDSCAPE, &name)).await?);
    Ok(keys)
}

/// A Stage touches the configs whose source or target it is and the promotions that target it. The hop from its
/// namespace back to the project goes through the Landscape that manages it.
pub async fn affected_by_stage<S: PromotionStore + ?Sized>(store: &S, stage: &Stage) -> Result<Keys, StoreError> {
    let (namespace, name) = (stage.namespace().unwrap_or_default(), stage.name_any());
    let mut keys = promotions(store, Query::all().by(BY_PROMOTED_STAGE, format!("{namespace}/{name}"))).await?;
    let managing: Listed<Landscape> = store.list(&Query::all().by(BY_MANAGED_NAMESPACE, &namespace)).await?;
    for landscape in managing.items {
        let project = landscape.namespace().unwrap_or_default();
        let reference = format!("{}/{name}", landscape.name_any());
        for index in [BY_SOURCE_STAGE, BY_TARGET_STAGE] {
            keys.extend(configs(store, Query::within(&project).by(index, &reference)).await?);
        }
        keys.extend(promotions(store, Query::within(&project).by(BY_TARGET_STAGE, &reference)).await?);
    }
    Ok(keys)
}

async fn configs<S: PromotionStore + ?Sized>(
    store: &S,
    query: Query<VectorPromotionConfig>,
) -> Result<Keys, StoreError> {
    let listed = store.list(&query).await?;
    let unreadable = listed.unreadable.iter().map(|config| Key::new(&config.object.namespace, &config.object.name));
    Ok(listed.items.iter().map(|config| Key::of(&**config)).chain(unreadable).collect())
}

async fn promotions<S: PromotionStore + ?Sized>(store: &S, query: Query<VectorPromotion>) -> Result<Keys, StoreError> {
    let listed = store.list(&query).await?;
    // Hundreds of promotions name a handful of configs.
    let named = listed.items.iter().map(|promotion| {
        let namespace = promotion.metadata.namespace.as_deref().unwrap_or_default();
        (namespace, promotion.spec.vector_promotion_config_name.as_str())
    });
    let named: BTreeSet<_> = named.collect();
    Ok(named.into_iter().map(|(namespace, config)| Key::new(namespace, config)).collect())
}
