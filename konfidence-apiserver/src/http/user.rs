//! Who asks. There is no authentication: the caller is who the impersonation headers say, or the developer.

use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub name: String,
    /// The groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    uid: String,
    extra: Vec<(String, String)>,
}

/// The caller who says nothing of themselves.
pub const DEVELOPER: &str = "konfidence-dev";

/// A header's text. People have names that are not ASCII, and nobody may pass for somebody else because of it.
fn read(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

impl User {
    /// The caller that the headers name.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(read).unwrap_or_default().to_owned();
        let name = text("impersonate-user");
        if name.is_empty() {
            let groups = vec!["system:masters".to_owned(), "system:authenticated".to_owned()];
            return Self { name: DEVELOPER.to_owned(), groups, uid: String::new(), extra: Vec::new() };
        }
        let mut groups: Vec<String> =
            headers.get_all("impersonate-group").iter().filter_map(read).map(str::to_owned).collect();
        if !groups.iter().any(|group| group == "system:authenticated" || group == "system:unauthenticated") {
            groups.push("system:authenticated".to_owned());
        }
        let extra = headers.iter().filter_map(|(header, value)| {
            let key = header.as_str().strip_prefix("impersonate-extra-")?;
            Some((key.to_owned(), read(value)?.to_owned()))
        });
        Self { name, groups, uid: text("impersonate-uid"), extra: extra.collect() }
    }

    /// `userInfo` of a review.
    pub(crate) fn info(&self) -> Value {
        let mut info = json!({"username": self.name, "groups": self.groups});
        if !self.uid.is_empty() {
            info["uid"] = self.uid.clone().into();
        }
        if !self.extra.is_empty() {
            let mut extra: Map<String, Value> = Map::new();
            for (key, value) in &self.extra {
                if let Value::Array(values) = extra.entry(key.clone()).or_insert_with(|| json!([])) {
                    values.push(value.clone().into());
                }
            }
            info["extra"] = Value::Object(extra);
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_beyond_ascii_is_who_it_says_and_nobody_else() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_str("zoë").unwrap());
        headers.insert("impersonate-group", HeaderValue::from_str("bäcker").unwrap());
        let user = User::of(&headers);
        assert_eq!((user.name.as_str(), user.groups[0].as_str()), ("zoë", "bäcker"));
    }
}
