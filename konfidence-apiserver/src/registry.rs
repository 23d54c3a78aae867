//! Which resources are served now.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::resource::Resource;

/// All served resources, immutable: a request works with the set that it began with.
#[derive(Clone, Default)]
pub(crate) struct Served {
    /// Group to its versions.
    groups: BTreeMap<String, Group>,
}

/// The versions of a group and their resources.
#[derive(Clone, Default)]
pub(crate) struct Group {
    /// Versions, the preferred first.
    pub versions: Vec<Version>,
}

/// The resources of one version of a group.
#[derive(Clone)]
pub(crate) struct Version {
    /// `v1alpha1`.
    pub name: String,
    /// By plural.
    pub resources: BTreeMap<String, Arc<Resource>>,
}

impl Served {
    /// Adds a resource; one of the same name is replaced.
    pub(crate) fn add(&mut self, resource: Arc<Resource>) {
        let group = self.groups.entry(resource.group.clone()).or_default();
        let version = if let Some(at) = group.versions.iter_mut().position(|version| version.name == resource.version) {
            at
        } else {
            group.versions.push(Version { name: resource.version.clone(), resources: BTreeMap::new() });
            group.versions.sort_by_key(|version| std::cmp::Reverse(priority(&version.name)));
            group.versions.iter().position(|version| version.name == resource.version).unwrap_or_default()
        };
        if let Some(version) = group.versions.get_mut(version) {
            version.resources.insert(resource.plural.clone(), resource);
        }
    }

    /// Removes every version of a resource.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        let Some(found) = self.groups.get_mut(group) else { return };
        for version in &mut found.versions {
            version.resources.remove(plural);
        }
        found.versions.retain(|version| !version.resources.is_empty());
        if found.versions.is_empty() {
            self.groups.remove(group);
        }
    }

    /// One resource.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.version(group, version)?.resources.get(plural)
    }

    /// One version of a group.
    pub(crate) fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.groups.get(group)?.versions.iter().find(|one| one.name == version)
    }

    /// One group.
    pub(crate) fn group(&self, group: &str) -> Option<&Group> {
        self.groups.get(group)
    }

    /// All groups by name; the core group has the empty one.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// Every resource of every version.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups.values().flat_map(|group| &group.versions).flat_map(|version| version.resources.values())
    }
}

/// The set that is served now, and its changes.
#[derive(Default)]
pub(crate) struct Registry(RwLock<Arc<Served>>);

impl Registry {
    /// What is served now.
    pub(crate) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is served, in one step.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Served)) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Served::clone(&current);
        change(&mut next);
        *current = Arc::new(next);
    }
}

/// The order of versions: stable ones before beta before alpha, newer before older, anything else last by name.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest.get(..digits)?.parse().ok()?;
        let rest = rest.get(digits..)?;
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        let (stage, number) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(number), _) => (2, number),
            (_, Some(number)) => (1, number),
            _ => return None,
        };
        Some((stage, major, number.parse().ok()?))
    };
    let (stage, major, minor) = parsed().unwrap_or_default();
    (stage, major, minor, std::cmp::Reverse(version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn versions_are_ordered_as_the_real_server_orders_them() {
        let mut versions = ["v1", "v1alpha1", "v1beta2", "v10", "v2", "foo", "v1beta1", "v11alpha2", "bar"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v11alpha2", "v1alpha1", "bar", "foo"]);
    }
}
