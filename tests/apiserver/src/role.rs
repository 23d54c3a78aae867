//! Who talks to the server: one token and one kubeconfig each.

/// A user that the server knows. Only [`Role::Admin`] may do anything before somebody binds a role to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Group `system:masters`.
    Admin,
    /// User `controllers`: what the controllers run as.
    Controllers,
    /// User `approver`: a person who decides about promotions.
    Approver,
    /// User `viewer`.
    Viewer,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Controllers, Self::Approver, Self::Viewer];

    /// The user's name, as RBAC and audit see it.
    pub const fn user(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Controllers => "controllers",
            Self::Approver => "approver",
            Self::Viewer => "viewer",
        }
    }

    /// The bearer token. No secret: the server listens on loopback and lives as long as a test.
    pub fn token(self) -> String {
        format!("token-of-{}", self.user())
    }

    /// Its line in the server's token file.
    pub(crate) fn line(self) -> String {
        let group = if self == Self::Admin { ",\"system:masters\"" } else { "" };
        format!("{},{user},{user}{group}\n", self.token(), user = self.user())
    }
}
