//! Patch formats that are more than a call of a library.

pub(crate) mod json;
pub(crate) mod strategic;
