//! Names of annotations. What a decision needs besides the public fields is an annotation, so that it survives under
//! the public CRDs too (a schema that does not know a status field prunes it).

/// Stage: `<namespace>/<promotion>` that last wrote the vector.
pub const PROMOTED_BY: &str = "konfidence.cloud/promoted-by";

/// Stage: the record, a JSON map from config name to `{owner, sequence, promotion, vector}` (P34).
pub const PROMOTIONS: &str = "konfidence.cloud/promotions";

/// Stage: `<promotion uid>@<resourceVersion of the promotion>`, written before that promotion is retired (P37).
pub const FENCED: &str = "konfidence.cloud/fenced";

/// Promotion: `<n>@<RFC 3339>`, the resumptions of its execution (P36).
pub const ATTEMPT: &str = "konfidence.cloud/attempt";

/// Promotion: count of consecutive failures before it, of the same vector on the same target (P38).
pub const FAILURES: &str = "konfidence.cloud/failures";

/// Promotion: count of consecutive corrections of a contested target (P51).
pub const CORRECTIONS: &str = "konfidence.cloud/corrections";

/// Promotion: JSON `{vector, by}`, the source vector that a manual promotion overrules (P52).
pub const OVERRULES: &str = "konfidence.cloud/overrules";

/// Config: uid of the promotion whose hold a person released (P52).
pub const RELEASED: &str = "konfidence.cloud/released";

/// Promotion: `<uid>/<resourceVersion>` of the source that it was made from (R13 of the protocol).
pub const SOURCE_VERSION: &str = "konfidence.cloud/source-version";

/// Promotion: `metadata.generation` of the config that it was made from (R13 of the protocol).
pub const CONFIG_GENERATION: &str = "konfidence.cloud/config-generation";

/// Template: the record of assembly, JSON in canonical form (A1).
pub const ASSEMBLY: &str = "konfidence.cloud/assembly";

/// Template: a new value asks for a check now (A1).
pub const REFRESH: &str = "konfidence.cloud/refresh";

/// Template: a new value asks for a new vector without drift (A1).
pub const ASSEMBLE: &str = "konfidence.cloud/assemble";
