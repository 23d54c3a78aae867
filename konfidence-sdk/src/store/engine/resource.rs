//! Kinds of objects, as the API names them.

use std::borrow::Cow;

/// What an engine must know of a kind: how it is called, and which rules of the API apply to its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// `konfidence.cloud`; empty for the core group.
    pub group: Cow<'static, str>,
    /// `v1alpha1`: the version in which the objects are stored.
    pub version: Cow<'static, str>,
    /// `VectorPromotion`.
    pub kind: Cow<'static, str>,
    /// `vectorpromotions`. Group and plural together identify the resource.
    pub plural: Cow<'static, str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the status is written apart from the rest of the object.
    pub status_subresource: bool,
    /// Whether `metadata.generation` counts the changes of what is asked for. Custom resources and workloads count,
    /// the other core kinds (`Namespace`, `ConfigMap`, `Lease`) do not.
    pub counts_generations: bool,
}

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All but the status, if the kind keeps its status apart: what the API's main resource offers.
    #[default]
    Main,
    /// Nothing but the status (and `metadata.managedFields`): what the API's `/status` offers.
    Status,
    /// Both at once: for a server that writes both itself, and for tests. No client of the API can do it.
    Whole,
}

/// What becomes of the dependants of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes first, its dependants afterwards.
    Background,
    /// The dependants that block the owner's deletion go first, the object afterwards.
    Foreground,
    /// The dependants stay and lose their reference to the object.
    Orphan,
}

/// When the garbage collector runs. A real one lags some seconds behind the writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collector {
    /// After each write, before anybody else sees the engine.
    #[default]
    Immediate,
    /// When [`Engine::collect_garbage`](super::Engine::collect_garbage) is called: for worlds in which it lags.
    OnRequest,
}
