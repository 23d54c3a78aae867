//! The laws of a store, as a suite that any implementation can run.
//!
//! A law is one async function with a name that says it and a doc that states it. The rules of this crate rely on the
//! laws and on nothing else, so a store that keeps them all is as good as any other. A law uses the port only; what it
//! cannot ask through the port (a fresh place, the passing of time, the loss of history) the [`Subject`] provides.
//!
//! ```
//! use konfidence_sdk::store::conformance::{self, Site, Subject};
//! use konfidence_sdk::store::{MemoryStore, StoreError};
//!
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl Subject for InMemory {
//!     type Store = MemoryStore;
//!     async fn site(&self) -> Result<Site<MemoryStore>, StoreError> {
//!         Ok(Site { store: MemoryStore::new(), namespace: "bakery".into(), elsewhere: "annex".into() })
//!     }
//! }
//!
//! let report = futures::executor::block_on(conformance::run(&InMemory));
//! assert!(report.is_kept(), "{report}");
//! ```

mod deletes;
mod fixture;
mod reads;
mod report;
mod watches;
mod writes;

#[cfg(test)]
mod tests;

pub use fixture::{Fixture, Watching};
pub use report::{Breach, Outcome, Report, Verdict};

use async_trait::async_trait;
use futures::future::BoxFuture;
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig};
use serde_json::Value;

use super::{Key, ObjectStore, ObjectWatch, StoreError};

/// What a store must hold to run the suite. Blanket-implemented.
pub trait Store:
    ObjectStore<Stage>
    + ObjectStore<VectorPromotionConfig>
    + ObjectStore<VectorPromotion>
    + ObjectWatch<Stage>
    + ObjectWatch<VectorPromotionConfig>
{
}

impl<S> Store for S where
    S: ObjectStore<Stage>
        + ObjectStore<VectorPromotionConfig>
        + ObjectStore<VectorPromotion>
        + ObjectWatch<Stage>
        + ObjectWatch<VectorPromotionConfig>
{
}

/// Where one law is tried: a store and two namespaces of it in which there is nothing and nobody else writes.
pub struct Site<S> {
    /// The store.
    pub store: S,
    /// The namespace in which the law acts.
    pub namespace: String,
    /// Another one, to see that they are apart.
    pub elsewhere: String,
}

/// An implementation that is put to the test.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    /// The implementation.
    type Store: Store;

    /// A site for one law: a new store, or new namespaces in the same one.
    ///
    /// # Errors
    /// Whatever keeps it from being made; the law is reported as broken with it.
    async fn site(&self) -> Result<Site<Self::Store>, StoreError>;

    /// Lets some time pass (50 ms, say) where watches or the collection of garbage lag behind the writes. What a law
    /// waits for has to come within [`PATIENCE`] pauses.
    async fn pause(&self) {}

    /// Makes the server forget the history before now. `false`: that cannot be arranged.
    async fn forget_history(&self, _store: &Self::Store) -> bool {
        false
    }

    /// A version of old whose history the server does not hold, where it cannot be made to forget and has forgotten by
    /// itself. `None`: there is none.
    async fn forgotten_version(&self, _store: &Self::Store) -> Option<String> {
        None
    }

    /// The Stage as the server holds it, with the fields that [`Stage`] does not know. `None`: it cannot be had.
    async fn raw_stage(&self, _store: &Self::Store, _key: &Key<Stage>) -> Option<Value> {
        None
    }

    /// Whether objects whose owners are gone are collected: a bare API server does not do it.
    fn collects_garbage(&self) -> bool {
        true
    }
}

/// How many pauses a law waits for what has to come.
pub const PATIENCE: usize = 200;

/// One law.
pub struct Law<S: Subject> {
    /// The law in words, as the function's name.
    pub name: &'static str,
    try_at: for<'a> fn(&'a Fixture<'a, S>) -> BoxFuture<'a, Verdict>,
}

impl<S: Subject> Law<S> {
    /// Tries the law at a site of its own.
    pub async fn check(&self, subject: &S) -> Outcome {
        match subject.site().await {
            Err(error) => Outcome::Broken(format!("no site: {error}")),
            Ok(site) => Outcome::of((self.try_at)(&Fixture::new(subject, site)).await),
        }
    }
}

/// Tries every law, one after another.
pub async fn run<S: Subject>(subject: &S) -> Report {
    let mut report = Report::default();
    for law in laws() {
        report.outcomes.push((law.name, law.check(subject).await));
    }
    report
}

macro_rules! table {
    ($($room:ident :: $law:ident),+ $(,)?) => {
        vec![$(Law { name: stringify!($law), try_at: |fixture| Box::pin($room::$law(fixture)) }),+]
    };
}

/// All laws.
pub fn laws<S: Subject>() -> Vec<Law<S>> {
    table![
        writes::a_create_gives_what_the_server_sets,
        writes::a_name_is_taken_once,
        writes::a_create_takes_no_status,
        writes::a_patch_on_an_old_version_conflicts_and_changes_nothing,
        writes::a_patch_for_another_uid_conflicts,
        writes::a_patch_without_version_is_refused,
        writes::a_patch_changes_what_it_names_and_keeps_the_rest,
        writes::a_patch_keeps_fields_that_the_kind_does_not_know,
        writes::a_patch_of_the_object_leaves_the_status,
        writes::a_patch_of_the_status_leaves_the_object,
        writes::the_generation_counts_changes_of_the_spec_only,
        writes::a_patch_that_changes_nothing_keeps_the_version,
        writes::writing_what_is_not_there_is_not_found,
        deletes::a_delete_of_another_uid_conflicts,
        deletes::a_delete_of_an_old_version_conflicts,
        deletes::a_finalizer_holds_a_deleted_object,
        deletes::a_deleted_object_takes_no_new_finalizer,
        deletes::an_object_made_anew_is_another_one,
        deletes::dependants_go_with_their_last_owner,
        reads::a_live_read_shows_every_write,
        reads::a_read_shows_ones_own_writes,
        reads::what_is_not_there_is_no_error,
        reads::a_list_is_ordered_and_keeps_to_its_namespace,
        reads::an_index_equals_a_filtered_list,
        reads::an_undeclared_index_is_refused,
        watches::a_watch_shows_every_change_in_order_from_any_version,
        watches::a_watch_without_version_shows_what_is_there_first,
        watches::a_list_and_a_watch_leave_no_gap,
        watches::a_watch_keeps_to_its_namespace,
        watches::a_watch_of_an_index_sees_objects_enter_and_leave,
        watches::a_watch_from_a_forgotten_version_is_expired,
    ]
}
