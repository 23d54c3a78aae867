//! Bodies of requests: bounded, decoded, with every unknown trick refused in one sentence.

use std::cell::RefCell;
use std::fmt;

use axum::body::Body;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::{protobuf, syntax};
use crate::field::{child, quoted};
use crate::status::{ApiError, ApiResult};

/// Bodies beyond this many bytes are refused with 413.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// Values nested deeper than this are refused with 400: every walk over an object is as deep as the object.
const DEPTH: usize = 128;

/// Bodies beyond this many bytes are not even read to their end before they are refused.
const MOST_READ: usize = 64 * 1024 * 1024;

/// Reads a whole body. One that is too long is read on and thrown away, up to a bound: a client that is still sending
/// would otherwise see a broken connection instead of the answer.
///
/// # Errors
/// 413 when it is too long, 400 when it breaks off.
pub(crate) async fn read(mut body: Body) -> ApiResult<Vec<u8>> {
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
    let duplicates = RefCell::new(Vec::new());
    let seed = Strict { path: String::new(), depth: 0, yaml: false, duplicates: &duplicates };
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| syntax::error(body).unwrap_or_else(|| error.to_string()))?;
    Ok(Decoded { value, twice: Twice { fields: duplicates.into_inner(), ..Twice::default() } })
}

/// A YAML body of one document.
///
/// # Errors
/// Why it does not parse.
pub(crate) fn yaml(body: &[u8]) -> Result<Decoded, String> {
    let refused = |error: &dyn fmt::Display| format!("yaml: {}", error.to_string().lines().next().unwrap_or_default());
    let text = std::str::from_utf8(body).map_err(|error| refused(&error))?;
    // Clients that speak YAML may send JSON, which is YAML; the JSON parser is the faster and stricter one.
    if text.trim_start().starts_with('{')
        && let Ok(decoded) = json(body)
        && decoded.twice.fields.is_empty()
    {
        return Ok(decoded);
    }
    let duplicates = RefCell::new(Vec::new());
    let last_wins = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, last_wins, |deserializer| {
        Strict { path: String::new(), depth: 0, yaml: true, duplicates: &duplicates }.deserialize(deserializer)
    })
    .map_err(|error| refused(&error))?;
    Ok(Decoded { value, twice: Twice { keys: duplicates.into_inner(), ..Twice::default() } })
}

/// In which order a JSON body names these paths; the second time counts for those that are named twice.
pub(crate) fn order(body: &[u8], paths: &[String]) -> Vec<String> {
    let met = RefCell::new(Vec::new());
    let seed = Met { path: String::new(), paths, places: &met };
    // The body has been read before.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_slice(body));
    met.into_inner()
}

/// Notes where it comes along.
struct Met<'a> {
    path: String,
    paths: &'a [String],
    places: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Met<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Met<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut at = 0;
        let below = |at| Met { path: format!("{}[{at}]", self.path), paths: self.paths, places: self.places };
        while items.next_element_seed(below(at))?.is_some() {
            at += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<String>()? {
            let path = child(&self.path, &name);
            if self.paths.contains(&path) {
                self.places.borrow_mut().push(path.clone());
            }
            entries.next_value_seed(Met { path, paths: self.paths, places: self.places })?;
        }
        Ok(())
    }
}

/// Builds a [`Value`], notes duplicate fields, and stops at a depth at which no honest object is.
struct Strict<'a> {
    path: String,
    depth: usize,
    yaml: bool,
    duplicates: &'a RefCell<Vec<String>>,
}

impl Strict<'_> {
    fn below<E: serde::de::Error>(&self, path: String) -> Result<Self, E> {
        if self.depth >= DEPTH {
            return Err(E::custom("exceeded max depth"));
        }
        Ok(Self { path, depth: self.depth + 1, yaml: self.yaml, duplicates: self.duplicates })
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
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self.below(format!("{}[{}]", self.path, all.len()))?)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        loop {
            let (name, line) = if self.yaml {
                let Some(key) = entries.next_key::<Spanned<String>>()? else { break };
                (key.value, key.defined.line())
            } else {
                let Some(name) = entries.next_key::<String>()? else { break };
                (name, 0)
            };
            let path = child(&self.path, &name);
            if fields.contains_key(&name) {
                self.duplicates.borrow_mut().push(if self.yaml {
                    format!("line {line}: key {} already set in map", quoted(&name))
                } else {
                    path.clone()
                });
            }
            let value = entries.next_value_seed(self.below(path)?)?;
            fields.insert(name, value);
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
    fn bodies_nested_ten_thousand_deep_are_refused_and_break_nothing() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            assert!(json(deep.as_bytes()).is_err() && yaml(deep.as_bytes()).is_err());
        }
        let lines: Vec<String> = (0..2_000).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
        assert!(yaml(lines.join("\n").as_bytes()).is_err());
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
