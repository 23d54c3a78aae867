//! Signatures that a template verifies, or puts on its vectors: by OCM, by cosign, or by both.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SecretRef, schema};

/// Signatures that are wanted, by one or both mechanisms.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
#[x_kube(validation = ("has(self.signatures) || has(self.cosign)", "at least one of signatures and cosign must be set"))]
pub struct SignaturePolicy {
    /// OCM signatures, by unique names; all of them are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(validation = (
        "self.all(one, self.exists_one(other, other.name == one.name))",
        "signatures must have unique names",
    ))]
    pub signatures: Vec<Signature>,
    /// A cosign signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosign: Option<CosignKey>,
}

/// Key material of a cosign signature.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CosignKey {
    /// The Secret: `key.pem` for signing, PEM public keys for verifying.
    pub secret_ref: SecretRef,
}

/// One OCM signature: its name, and how it is made.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::absent_not_null)]
pub struct Signature {
    /// Name of the signature, unique in its list.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Algorithm of the signature.
    #[serde(default)]
    pub algorithm: SignatureAlgorithm,
    /// Encoding of the signature.
    #[serde(default)]
    pub signature_media_type: SignatureMediaType,
    /// Algorithm of the digest that is signed.
    #[serde(default)]
    pub hash_algorithm: HashAlgorithm,
    /// Normalisation of the descriptor before it is digested.
    #[serde(default)]
    pub normalisation_algorithm: NormalisationAlgorithm,
    /// Distinguished name of the certificate's issuer. Absent: not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub issuer: Option<String>,
}

/// Algorithm of a signature.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureAlgorithm {
    /// RSA with PSS padding.
    #[default]
    #[serde(rename = "RSASSA-PSS")]
    RsassaPss,
    /// RSA with PKCS #1 v1.5 padding.
    #[serde(rename = "RSASSA-PKCS1-V1_5")]
    RsassaPkcs1V15,
}

/// Encoding of a signature.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureMediaType {
    /// PEM, with the certificate chain.
    #[default]
    #[serde(rename = "application/x-pem-file")]
    Pem,
    /// Hex, PSS padding.
    #[serde(rename = "application/vnd.ocm.signature.rsa.pss")]
    RsaPss,
    /// Hex, PKCS #1 v1.5 padding.
    #[serde(rename = "application/vnd.ocm.signature.rsa")]
    Rsa,
}

/// Algorithm of a digest.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashAlgorithm {
    /// SHA-256.
    #[default]
    #[serde(rename = "SHA-256")]
    Sha256,
    /// SHA-512.
    #[serde(rename = "SHA-512")]
    Sha512,
}

/// Normalisation of a component descriptor.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NormalisationAlgorithm {
    /// `jsonNormalisation/v4alpha1` (A76).
    #[default]
    #[serde(rename = "jsonNormalisation/v4alpha1")]
    JsonV4Alpha1,
}
