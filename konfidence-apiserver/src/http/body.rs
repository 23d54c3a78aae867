//! Bodies of requests: bounded, decoded, with every unknown trick refused in one sentence.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::{protobuf, syntax};
use crate::field::quoted;
use crate::stack::DEEPEST;
use crate::status::{ApiError, ApiResult};

/// Bodies beyond this many bytes are refused with 413.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// Bodies beyond this many bytes are not even read to their end before they are refused.
const MOST_READ: usize = 64 * 1024 * 1024;

/// How long a body may take, as on a real server.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reads a whole body. One that is too long is read on and thrown away, up to a bound: a client that is still sending
/// would otherwise see a broken connection instead of the answer.
///
/// # Errors
/// 413 when it is too long, 400 when it breaks off, 504 when it does not come in time.
pub(crate) async fn read(body: Body) -> ApiResult<Vec<u8>> {
    tokio::time::timeout(PATIENCE, whole(body)).await.unwrap_or_else(|_| Err(ApiError::late()))
}

async fn whole(mut body: Body) -> ApiResult<Vec<u8>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::bad_request(format!("the body cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length <= LIMIT {
            bytes.extend_from_slice(&data);
        } else {
            bytes = Vec::new();
        }
        if length > MOST_READ {
            break;
        }
    }
    if length > LIMIT { Err(ApiError::too_large(&format!("limit is {LIMIT}"))) } else { Ok(bytes) }
}

/// The media type of a body without its parameters; empty: none is named.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A decoded body, and what it names twice; the last one counts.
pub(crate) struct Decoded {
    /// The object.
    pub value: Value,
    /// What it names twice.
    pub twice: Twice,
}

/// What a body names twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twice {
    /// Of JSON: paths of fields.
    pub fields: Vec<String>,
    /// Of YAML: a sentence for each key.
    pub keys: Vec<String>,
}

/// Why a body cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Nobody here reads such a body.
    MediaType,
    /// It is not what its media type says.
    Syntax(String),
}

/// Media types of bodies, as a refusal lists them.
pub(crate) const READ: &[&str] = &["application/json", "application/yaml", protobuf::MEDIA_TYPE];

/// An object in the encoding that the headers name.
///
/// # Errors
/// When the encoding is not served, or the body does not parse.
pub(crate) fn object(headers: &HeaderMap, body: &[u8]) -> Result<Decoded, Unreadable> {
    match media_type(headers).as_str() {
        "application/json" | "" | "*/*" => {
            json(body).map_err(|why| Unreadable::Syntax(format!("couldn't get version/kind; json parse error: {why}")))
        }
        "application/yaml" => yaml(body).map_err(Unreadable::Syntax),
        protobuf::MEDIA_TYPE => protobuf::decode(body).map(|value| Decoded { value, twice: Twice::default() }),
        _ => Err(Unreadable::MediaType),
    }
}

/// A JSON body.
///
/// # Errors
/// Why it does not parse.
pub(crate) fn json(body: &[u8]) -> Result<Decoded, String> {
    let mut fields = Vec::new();
    let value = syntax::parse(body, |field| {
        if field.twice {
            fields.push(field.path());
        }
    })?;
    Ok(Decoded { value, twice: Twice { fields, ..Twice::default() } })
}

/// How many levels a body of this media type may turn out to have.
pub(crate) fn levels(headers: &HeaderMap, body: &[u8]) -> usize {
    let is_yaml = media_type(headers).ends_with("yaml") && !begins_as_json(body);
    // A level of YAML takes a byte at least.
    if is_yaml { body.len().min(DEEPEST) } else { syntax::levels(body) }
}

fn begins_as_json(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'{')
}

/// A YAML body of one document.
///
/// # Errors
/// Why it does not parse.
pub(crate) fn yaml(body: &[u8]) -> Result<Decoded, String> {
    let refused = |error: &dyn fmt::Display| format!("yaml: {}", error.to_string().lines().next().unwrap_or_default());
    let text = std::str::from_utf8(body).map_err(|error| refused(&error))?;
    // Clients that speak YAML may send JSON, which is YAML; the JSON parser is the faster and stricter one.
    if begins_as_json(body)
        && let Ok(decoded) = json(body)
        && decoded.twice.fields.is_empty()
    {
        return Ok(decoded);
    }
    let (keys, too_deep) = (RefCell::new(Vec::new()), Cell::new(false));
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        // Depth is counted below, where it can be told in the real server's words; a body is bounded by its length.
        budget: serde_saphyr::budget! {
            max_depth: 2 * DEEPEST,
            flow_nesting_limit: 2 * DEEPEST,
            max_nodes: LIMIT,
            max_events: 2 * LIMIT,
        },
    };
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Strict { levels: 0, keys: &keys, too_deep: &too_deep }.deserialize(deserializer)
    });
    if too_deep.get() {
        return Err(format!("yaml: exceeded max depth of {DEEPEST}"));
    }
    let value = value.map_err(|error| refused(&error))?;
    Ok(Decoded { value, twice: Twice { keys: keys.into_inner(), ..Twice::default() } })
}

/// In which order a JSON body names these paths; the second time counts for those that are named twice.
pub(crate) fn order(body: &[u8], paths: &[String]) -> Vec<String> {
    let step = |byte: u8| matches!(byte, b'.' | b'[');
    let wanted: HashSet<&String> = paths.iter().collect();
    let deepest =
        paths.iter().map(|path| path.bytes().filter(|byte| step(*byte)).count() + 1).max().unwrap_or_default();
    let mut met = Vec::new();
    // The body has been read before.
    let _ = syntax::parse(body, |field| {
        if field.levels() <= deepest {
            met.extend(Some(field.path()).filter(|path| wanted.contains(path)));
        }
    });
    met
}

/// Builds a [`Value`] from YAML, notes keys that are set twice, and stops where it is too deep.
#[derive(Clone, Copy)]
struct Strict<'a> {
    levels: usize,
    keys: &'a RefCell<Vec<String>>,
    too_deep: &'a Cell<bool>,
}

impl Strict<'_> {
    /// For what is in a value.
    fn below<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.levels >= DEEPEST {
            self.too_deep.set(true);
            return Err(E::custom("exceeded max depth"));
        }
        Ok(Self { levels: self.levels + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let name = key.value;
            if fields.contains_key(&name) {
                let line = key.defined.line();
                self.keys.borrow_mut().push(format!("line {line}: key {} already set in map", quoted(&name)));
            }
            fields.insert(name, entries.next_value_seed(below)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_fields_are_found_where_they_are() {
        let decoded = json(br#"{"spec": {"a": 1, "a": 2}, "list": [{"b": 1, "b": 1}]}"#).expect("parses");
        assert_eq!(decoded.twice.fields, ["spec.a", "list[0].b"]);
        assert_eq!(decoded.value["spec"]["a"], 2);
    }

    #[test]
    fn the_order_of_a_body_is_found_again() {
        let paths = ["a".to_owned(), "b.c".to_owned(), "z[1].y".to_owned()];
        let body = br#"{"z": [{}, {"y": 1}], "b": {"c": 1}, "a": 1, "a": 2}"#;
        assert_eq!(order(body, &paths), ["z[1].y", "b.c", "a", "a"]);
    }

    #[test]
    fn yaml_is_read_as_deep_as_json_and_refused_where_it_is_deeper() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let listed = |levels: usize| format!("{}1", "- ".repeat(levels));
        let tree = |levels: usize| (0..levels).map(|level| " ".repeat(level) + "a:\n").collect::<String>();
        crate::stack::fitting(DEEPEST, || {
            for text in [nested(DEEPEST), listed(DEEPEST), tree(2_000)] {
                let value = yaml(text.as_bytes()).expect("parses").value;
                assert!(konfidence_sdk::store::engine::nesting(&value) >= 2_000);
            }
            for text in [nested(DEEPEST + 1), listed(DEEPEST + 1)] {
                let why = yaml(text.as_bytes()).err();
                assert_eq!(why.as_deref(), Some("yaml: exceeded max depth of 10000"));
            }
        });
    }

    #[test]
    fn a_key_that_is_set_twice_is_told_by_its_line() {
        let decoded = yaml(b"a: 1\nb:\n  c: 1\n  c: 2\n").expect("parses");
        assert_eq!(decoded.twice.keys, [r#"line 4: key "c" already set in map"#]);
        assert_eq!(decoded.value["b"]["c"], 2);
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = yaml(b"a: 1\nb: [x, true, null]\nc: '1'\n").expect("parses");
        let json = json(br#"{"a": 1, "b": ["x", true, null], "c": "1"}"#).expect("parses");
        assert_eq!(yaml.value, json.value);
    }
}
