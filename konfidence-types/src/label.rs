//! Names of labels.

/// Promotion: selects the promotions of a config. The value is derived from the config's name and stays legal for any.
pub const CONFIG: &str = "konfidence.cloud/promotion-config";

/// Managed namespace: the controller that owns it (R61).
pub const MANAGED_BY: &str = "konfidence.cloud/managed-by";

/// Managed namespace: what it is, `landscape` (R61).
pub const TYPE: &str = "konfidence.cloud/type";

/// Managed namespace: name of its Landscape (R61).
pub const LANDSCAPE: &str = "konfidence.cloud/landscape";

/// Project namespace and managed namespace: name of the project (R60, R61).
pub const PROJECT: &str = "konfidence.cloud/project";
