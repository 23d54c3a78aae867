//! What a path of the API names.

use std::sync::Arc;

use http::Method;

use crate::registry::Served;
use crate::resource::Resource;
use crate::status::{ApiError, ApiResult};

/// A resource, and as much of an object as the path names.
#[derive(Clone)]
pub(crate) struct Target {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The namespace; `None`: all of them, or the resource has none.
    pub namespace: Option<String>,
    /// The object; `None`: the collection.
    pub name: Option<String>,
    /// `status`, `scale`, `finalize`.
    pub subresource: Option<String>,
    /// Whether the path says `watch`, as clients of old do.
    pub watched: bool,
}

impl Target {
    /// The namespace as the store knows it: empty for cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

/// The parts of a decoded path. What follows its last word are slashes, and says nothing. `None`: it is no UTF-8, or no
/// path of anything, since slashes that follow one another are not one.
pub(crate) fn parts(path: &str) -> Option<Vec<String>> {
    let path = decoded(path)?;
    let path = path.strip_prefix('/').unwrap_or(&path);
    if path.starts_with('/') || path.starts_with("apis//") {
        return None;
    }
    let path = path.trim_end_matches('/');
    Some(if path.is_empty() { Vec::new() } else { path.split('/').map(str::to_owned).collect() })
}

/// Finds what `parts`, the path below `/api` or `/apis`, names.
///
/// # Errors
/// 404, as the server of the group words it: one serves the built-in groups, another one the custom resources, and a
/// third one nothing at all.
pub(crate) fn target(served: &Served, parts: &[String], method: &Method) -> ApiResult<Target> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !group.is_empty() => (*group, *version, rest),
        _ => return Err(ApiError::no_such_path()),
    };
    let custom = match served.group(group) {
        None => return Err(ApiError::no_such_path()),
        Some(group) => group.versions.iter().flat_map(|version| version.resources.values()).any(|one| one.custom),
    };
    let nothing = || if custom { ApiError::no_such_path() } else { ApiError::no_such_resource() };
    let (watched, rest) = match rest {
        ["watch", rest @ ..] if *method == Method::GET => (true, rest),
        rest => (false, rest),
    };
    let find = |plural: &str| served.get(group, version, plural).cloned().ok_or_else(nothing);
    let some = |part: &str| Some(part.to_owned());
    let (resource, namespace, rest) = match rest {
        // A namespace is an object and a place: `namespaces/x/status` is the object's.
        ["namespaces", _, "status" | "finalize"] | ["namespaces", _] if group.is_empty() => {
            (find("namespaces")?, None, rest.get(1..).unwrap_or_default())
        }
        // No namespace is every namespace.
        ["namespaces", "", plural] => (find(plural)?, None, &[][..]),
        ["namespaces", namespace, plural, rest @ ..] => {
            let resource = find(plural)?;
            if !resource.namespaced || namespace.is_empty() {
                return Err(nothing());
            }
            (resource, some(namespace), rest)
        }
        [plural, rest @ ..] => {
            let resource = find(plural)?;
            // The path that shows all namespaces only shows, and only all of them.
            let shows = rest.is_empty() && matches!(*method, Method::GET | Method::HEAD);
            if resource.namespaced && !(shows || rest.is_empty() && !custom) {
                return Err(nothing());
            }
            (resource, None, rest)
        }
        [] => return Err(nothing()),
    };
    let subresource_served = match rest.get(1).copied() {
        None => true,
        Some("status") => resource.status,
        Some("scale") => resource.scale.is_some(),
        Some("finalize") => resource.group.is_empty() && resource.plural == "namespaces",
        Some(_) => false,
    };
    if let [name] | [name, _] = rest
        && subresource_served
        && !name.is_empty()
    {
        is_segment(name)?;
    }
    match rest {
        [] => Ok(Target { resource, namespace, name: None, subresource: None, watched }),
        [name] => Ok(Target { resource, namespace, name: some(name), subresource: None, watched }),
        [name, part] if subresource_served && !name.is_empty() => {
            Ok(Target { resource, namespace, name: some(name), subresource: some(part), watched })
        }
        [name, ..] if custom => Err(ApiError::not_found(&resource, name)),
        _ => Err(nothing()),
    }
}

/// Refuses a name that no object can have because it would lead elsewhere in a path.
fn is_segment(name: &str) -> ApiResult<()> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        name if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(ApiError::bad_request(format!("Name parameter invalid: \"{name}\": {why}")))
}

fn decoded(part: &str) -> Option<String> {
    if !part.contains('%') {
        return Some(part.to_owned());
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        if let (b'%', Some(byte)) = (first, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(parts("/apis/a%2Fb/c%20d/"), Some(vec!["apis".into(), "a".into(), "b".into(), "c d".into()]));
        assert_eq!(parts("/%ff"), None);
        assert_eq!(parts("/100%"), Some(vec!["100%".into()]));
    }

    #[test]
    fn slashes_that_follow_one_another_are_not_one() {
        assert_eq!(parts("//api"), None);
        assert_eq!(parts("/apis//"), None);
        assert_eq!(parts("/api//v1//"), Some(vec!["api".into(), String::new(), "v1".into()]));
        assert_eq!(parts("/"), Some(Vec::new()));
    }
}
