//! Overlays: a store of a domain in which some kinds are mocked and the rest are a memory store.
//!
//! A mock answers for one kind with one precise error; everything else behaves. It is a macro, because one
//! `impl<K> ObjectStore<K>` cannot choose a field by kind.

/// Declares the overlay of a domain: a method per kind that takes its mock, and the port for each of them.
macro_rules! overlay {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty),+ $(,)? }) => {
        $(#[$doc])*
        pub struct $name {
            memory: $crate::store::MemoryStore,
            $($field: Option<$crate::store::MockObjectStore<$kind>>,)+
        }

        impl $name {
            /// Nothing mocked: every kind is that of `memory`.
            pub fn over(memory: $crate::store::MemoryStore) -> Self {
                Self { memory, $($field: None),+ }
            }

            $(
                #[doc = concat!("Has `mock` answer for ", stringify!($kind), ".")]
                #[must_use]
                pub fn $field(mut self, mock: $crate::store::MockObjectStore<$kind>) -> Self {
                    self.$field = Some(mock);
                    self
                }
            )+
        }

        $($crate::store::overlay::port!($name, $field, $kind);)+
    };
}

/// The port for one kind of an overlay: to the mock where there is one, else to the memory store.
macro_rules! port {
    ($name:ident, $field:ident, $kind:ty) => {
        $crate::store::overlay::forward! { $name, $field, $kind;
            get(key: &$crate::store::Key<$kind>) -> Option<std::sync::Arc<$kind>>;
            list(query: &$crate::store::Query<$kind>) -> $crate::store::Listed<$kind>;
            get_live(key: &$crate::store::Key<$kind>) -> Option<std::sync::Arc<$kind>>;
            list_live(query: &$crate::store::Query<$kind>) -> $crate::store::Listed<$kind>;
            create(object: &$kind) -> std::sync::Arc<$kind>;
            patch(key: &$crate::store::Key<$kind>, patch: &$crate::store::Patch<$kind>) -> std::sync::Arc<$kind>;
            patch_status(key: &$crate::store::Key<$kind>, patch: &$crate::store::Patch<$kind>) -> std::sync::Arc<$kind>;
            delete(key: &$crate::store::Key<$kind>, precondition: &$crate::store::Precondition) -> ();
        }
    };
}

macro_rules! forward {
    ($name:ident, $field:ident, $kind:ty; $($method:ident($($argument:ident: $type:ty),+) -> $answer:ty;)+) => {
        #[async_trait::async_trait]
        impl $crate::store::ObjectStore<$kind> for $name {
            $(
                async fn $method(&self, $($argument: $type),+) -> Result<$answer, $crate::store::StoreError> {
                    match &self.$field {
                        Some(mock) => $crate::store::ObjectStore::<$kind>::$method(mock, $($argument),+).await,
                        None => $crate::store::ObjectStore::<$kind>::$method(&self.memory, $($argument),+).await,
                    }
                }
            )+
        }
    };
}

pub(crate) use {forward, overlay, port};
