//! What a request to the Kubernetes API asks for: tests that stand between a client and its server note requests by it.

use http::{Method, Uri};
use serde_json::Value;

/// One request as the API server's authorizer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `patch`, `update`, `delete`.
    pub verb: &'static str,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural, with the subresource: `stages/status`.
    pub resource: String,
    /// Empty where the request is for the whole cluster.
    pub namespace: String,
    /// Empty where the request is for a collection.
    pub name: String,
    /// What was sent; null where nothing was, or where nobody looks at it.
    pub body: Value,
}

impl Call {
    /// The call that a request is; `None` for discovery, health and whatever else is no resource.
    ///
    /// ```
    /// use http::Method;
    /// use serde_json::Value;
    /// use wire::Call;
    ///
    /// let path = "/apis/konfidence.cloud/v1alpha1/namespaces/bakery/stages/dev/status";
    /// let call = Call::of(&Method::PATCH, &path.parse()?, Value::Null).expect("a resource");
    /// assert_eq!(call.words(), "patch stages/status dev");
    /// assert_eq!(call.right(), "patch konfidence.cloud/stages/status");
    /// assert_eq!(Call::of(&Method::GET, &"/healthz".parse()?, Value::Null), None);
    /// # Ok::<(), http::uri::InvalidUri>(())
    /// ```
    pub fn of(method: &Method, uri: &Uri, body: Value) -> Option<Self> {
        let path: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        let (group, rest) = match path.as_slice() {
            ["api", "v1", rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        // `/namespaces/x` is the namespace itself, `/namespaces/x/stages` what is in it.
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => (*namespace, rest),
            rest => ("", rest),
        };
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, "", None),
            [resource, name] => (*resource, *name, None),
            [resource, name, subresource] => (*resource, *name, Some(*subresource)),
            _ => return None,
        };
        let watches = uri.query().is_some_and(|query| query.contains("watch=true"));
        let verb = match (method, name) {
            (&Method::GET, "") if watches => "watch",
            (&Method::GET, "") => "list",
            (&Method::GET, _) => "get",
            (&Method::POST, _) => "create",
            (&Method::PATCH, _) => "patch",
            (&Method::PUT, _) => "update",
            (&Method::DELETE, _) => "delete",
            _ => return None,
        };
        Some(Self {
            verb,
            group: group.to_owned(),
            resource: subresource.map_or_else(|| resource.to_owned(), |part| format!("{resource}/{part}")),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            body,
        })
    }

    /// Whether it changes something.
    pub fn writes(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }

    /// `patch stages dev`.
    pub fn words(&self) -> String {
        format!("{} {} {}", self.verb, self.resource, self.name).trim_end().to_owned()
    }

    /// As a rule of a role has it: `patch konfidence.cloud/stages`.
    pub fn right(&self) -> String {
        format!("{} {}/{}", self.verb, self.group, self.resource)
    }
}
