//! What a path of the API names.

use std::sync::Arc;

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
}

impl Target {
    /// The namespace as the store knows it: empty for cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

/// The parts of a path, each decoded. `None`: a part is no UTF-8.
pub(crate) fn parts(path: &str) -> Option<Vec<String>> {
    path.split('/').filter(|part| !part.is_empty()).map(decoded).collect()
}

/// Finds what `parts`, the path below `/api` or `/apis`, names.
///
/// # Errors
/// 404 when nothing is served there; of a custom resource that has no such subresource it says that the object is not
/// found, as the real server does.
pub(crate) fn target(served: &Served, parts: &[String]) -> ApiResult<Target> {
    let target = parsed(served, parts).ok_or_else(ApiError::no_such_path)?;
    let resource = &target.resource;
    let subresource_served = match target.subresource.as_deref() {
        None => true,
        Some("status") => resource.status,
        Some("scale") => resource.scale.is_some(),
        Some("finalize") => resource.group.is_empty() && resource.plural == "namespaces",
        Some(_) => false,
    };
    match target.name.as_deref() {
        _ if subresource_served => Ok(target),
        Some(name) if resource.custom => Err(ApiError::not_found(resource, name)),
        _ => Err(ApiError::no_such_path()),
    }
}

fn parsed(served: &Served, parts: &[String]) -> Option<Target> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !group.is_empty() => (*group, *version, rest),
        _ => return None,
    };
    let find = |plural: &str| served.get(group, version, plural).cloned();
    let some = |part: &str| Some(part.to_owned());
    let (resource, namespace, name, subresource) = match rest {
        // A namespace is an object and a place: `namespaces/x/status` is the object's.
        ["namespaces", name, sub @ ("status" | "finalize")] if group.is_empty() => {
            (find("namespaces")?, None, some(name), some(sub))
        }
        ["namespaces", name] if group.is_empty() => (find("namespaces")?, None, some(name), None),
        ["namespaces", namespace, plural, rest @ ..] => {
            let resource = find(plural).filter(|resource| resource.namespaced)?;
            match rest {
                [] => (resource, some(namespace), None, None),
                [name] => (resource, some(namespace), some(name), None),
                [name, sub] => (resource, some(namespace), some(name), some(sub)),
                _ => return None,
            }
        }
        [plural] => (find(plural)?, None, None, None),
        [plural, name] => (find(plural).filter(|resource| !resource.namespaced)?, None, some(name), None),
        [plural, name, sub] => (find(plural).filter(|resource| !resource.namespaced)?, None, some(name), some(sub)),
        _ => return None,
    };
    Some(Target { resource, namespace, name, subresource })
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
        assert_eq!(parts("/apis/a%2Fb//c%20d"), Some(vec!["apis".into(), "a/b".into(), "c d".into()]));
        assert_eq!(parts("/%ff"), None);
        assert_eq!(parts("/100%"), Some(vec!["100%".into()]));
    }
}
