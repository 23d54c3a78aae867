//! Every reason that Konfidence writes on the kinds of this crate, by the condition or event that carries it.
//!
//! In the stored shape a reason is an open string: parse it where a word matters, show it where it does not.
//!
//! ```
//! use konfidence_types::SucceededReason;
//!
//! assert_eq!("PromotionRunning".parse(), Ok(SucceededReason::PromotionRunning));
//! assert!("SomethingNewer".parse::<SucceededReason>().is_err());
//! ```

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Reasons of `Succeeded` on a `VectorPromotion`; with the status they decide its state (promotion.md, section 5).
    SucceededReason {
        /// `True`: the vector is on the target.
        PromotionSucceeded,
        /// `False`, not terminal: the execution was started.
        PromotionRunning,
        /// `False`, not terminal: the target's Landscape or Stage does not resolve.
        PromotionTargetUnresolved,
        /// `False`: a newer promotion of the config took its place.
        PromotionSuperseded,
        /// `False`: still in progress at the deadline (P37).
        PromotionTimedOut,
        /// `False`: the API server refused the write of the Stage for good (P36).
        PromotionFailed,
        /// `False`: a person rejected it (P18).
        PromotionRejected,
    }
}

vocabulary! {
    /// Reasons of `Approved` on a `VectorPromotion`.
    ApprovedReason {
        /// `False`: nobody approved yet (P17).
        WaitingForApproval,
        /// `True`: a person approved (P15).
        ManuallyApproved,
    }
}

vocabulary! {
    /// Reasons of `Ready` on a `VectorPromotionConfig` (P2).
    ReadyReason {
        /// `True`: source and target resolve.
        TargetResolved,
        /// `False`: the Landscape that source or target names does not exist.
        LandscapeNotFound,
        /// `False`: that Landscape has no managed namespace yet.
        LandscapeNotReady,
        /// `False`: the target Stage does not exist.
        StageNotFound,
        /// `False`: the source, a template or a Stage, does not exist.
        SourceNotFound,
        /// `False`: an object that the decision needs cannot be read; nothing is guessed about it.
        ObjectUnreadable,
    }
}

vocabulary! {
    /// Reasons of `Ready` and `NamespaceReady` on a Landscape (R60 to R63).
    LandscapeReason {
        /// `Ready=True`.
        LandscapeReconciled,
        /// `NamespaceReady=True`.
        NamespaceReconciled,
        /// `False`: the API server refused the namespace.
        NamespaceCreateFailed,
        /// `False`: a namespace of that name exists and is not ours.
        NamespaceConflict,
        /// `False`: the namespace is being deleted.
        NamespaceTerminating,
        /// `False`: the Landscape is being deleted.
        Terminating,
        /// `False`: `spec.namespace` names a namespace that no Landscape may own.
        InvalidNamespace,
    }
}

vocabulary! {
    /// Reasons of `Ready` on a Stage (routing.md, section 11). `ActivationFailed` and `Activating` carry the
    /// activation's own reason in their message.
    StageReason {
        /// `True`: the vector of the current generation is active.
        Active,
        /// `False`: the namespace is no landscape's (R3).
        InvalidNamespace,
        /// `False`: `spec.vector` is empty (R2).
        VectorEmpty,
        /// `False`: an object of the wanted name belongs to somebody else (R4).
        NameOccupied,
        /// `False`: the vector is not deployed yet.
        Deploying,
        /// `False`: a migration has to succeed first (R13).
        MigrationRequired,
        /// `False`: the route is being moved to the vector.
        Activating,
        /// `False`: the vector was refused.
        ActivationFailed,
        /// `False`: the active vector's deployment is not ready.
        ActiveVectorNotReady,
    }
}

vocabulary! {
    /// Reasons of `Serving` on a Stage (routing.md, section 11).
    ServingReason {
        /// `True`: the Gateway programmed the route.
        RouteProgrammed,
        /// `Unknown`: the route was written and has no verdict yet.
        RouteUpdating,
        /// `False`: no vector was ever active.
        NeverActivated,
        /// `False`: the active vector exposes nothing.
        NoExposedResults,
        /// `False`: the cluster has no Gateway API.
        GatewayAPIMissing,
        /// `False`: the Gateway does not exist.
        GatewayNotFound,
        /// `False`: the landscape's targets name different Gateways.
        GatewayRefConflict,
        /// `False`: the Gateway does not let this route attach.
        GatewayRefusesRoute,
        /// `False`: another landscape has a route for the same stage name on the Gateway.
        StageNameCollision,
        /// `False`: a route of the wanted name is not ours.
        RouteConflict,
        /// `False`: the route of a predecessor of that name is being deleted.
        PreviousRouteTerminating,
        /// `False`: the Gateway rejected the route.
        RouteRejected,
    }
}

vocabulary! {
    /// Reasons of `Ready` on a `VectorTemplate` (A40, A42).
    VectorTemplateReason {
        /// `True`: a vector was assembled and published.
        VectorCreated,
        /// `True`: a vector of equal content was found at the target and published.
        VectorAdopted,
        /// `True`: the published vector is up to date.
        NoDriftDetected,
        /// `False`: `spec.suspend` is true.
        Suspended,
        /// `False`: a reference cannot be parsed, or formats are mixed.
        InvalidReference,
        /// `False`: two entries name one component.
        DuplicateComponent,
        /// `False`: another template writes to the upload target.
        UploadTargetConflict,
        /// `False`: the chain of bases reaches itself or is too long.
        BaseCycle,
        /// `False`: the base does not exist.
        BaseNotFound,
        /// `False`: the base has no vector yet, or is assembling.
        WaitingForBase,
        /// `False`: a Secret does not exist.
        SecretNotFound,
        /// `False`: a Secret cannot be used.
        SecretInvalid,
        /// `False`: the registry refused the credentials.
        Unauthorized,
        /// `False`: the registry has no such repository or tag.
        TagNotFound,
        /// `Unknown`: the registry limits requests.
        RateLimited,
        /// `Unknown`: the registry does not answer.
        RegistryUnavailable,
        /// `False`: the registry's certificate is not valid.
        CertificateInvalid,
        /// `False`: an artifact is not what its digest or type says.
        InvalidArtifact,
        /// `False`: an artifact lacks digests.
        NotDigestible,
        /// `False`: a signature that is wanted does not verify.
        VerificationFailed,
        /// `False`: the vector cannot be signed.
        SigningFailed,
        /// `False`: a component version exists at the target with another digest.
        ArtifactConflict,
        /// `False`: the registry refused the push.
        VectorCreationFailed,
    }
}

vocabulary! {
    /// Reasons of the events of promotion (P47): on the promotion, `PromotionCreated` and `TargetContested` on the
    /// config.
    EventReason {
        /// A promotion was made for a drift.
        PromotionCreated,
        /// A person approved.
        PromotionApproved,
        /// The execution was started.
        PromotionStarted,
        /// The vector is on the target.
        PromotionSucceeded,
        /// A newer promotion took its place.
        PromotionSuperseded,
        /// Warning: the target does not resolve.
        PromotionBlocked,
        /// Warning: retired at the deadline.
        PromotionTimedOut,
        /// Warning: the write was refused for good.
        PromotionFailed,
        /// A person rejected it.
        PromotionRejected,
        /// Warning: somebody else keeps writing the target (P51).
        TargetContested,
        /// Warning: a source changed faster than promotions were made, and its oldest vectors are no candidates (P8).
        CandidatesDropped,
    }
}
