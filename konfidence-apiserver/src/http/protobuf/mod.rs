//! Bodies in protobuf: `kubectl create namespace` and the typed clients of Go send the built-in kinds so. They are read
//! into JSON; answers are always JSON, which every such client takes as well. Custom resources have no such form, here
//! as on a real server.

mod messages;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use super::body::Unreadable;

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// One field of a message.
pub(super) struct Field {
    number: u64,
    name: &'static str,
    kind: Kind,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Text; empty: not set.
    Text,
    /// A number that is not set when it is 0.
    Count,
    /// A number that may be 0.
    Number,
    /// A boolean that may be false.
    Flag,
    /// Text, any number of times.
    Texts,
    /// A map of texts.
    Map,
    /// A map of bytes, base64 in JSON.
    Bytes,
    /// An instant in whole seconds.
    Time,
    /// An instant in microseconds.
    MicroTime,
    /// JSON as bytes.
    Json,
    /// A message.
    One(&'static [Field]),
    /// A message, any number of times.
    Many(&'static [Field]),
}

/// Reads a body of one of the kinds that have a protobuf form here.
///
/// # Errors
/// When the kind has none, or for bytes that are no such message.
pub(crate) fn decode(body: &[u8]) -> Result<Value, Unreadable> {
    let broken = || {
        let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        Unreadable::Syntax(why.to_owned())
    };
    let envelope = body.strip_prefix(MAGIC).ok_or_else(broken)?;
    let (mut api_version, mut kind, mut raw): (String, String, &[u8]) = Default::default();
    for (number, wire) in fields(envelope).ok_or_else(broken)? {
        match (number, wire) {
            (1, Wire::Bytes(types)) => {
                for (number, wire) in fields(types).ok_or_else(broken)? {
                    let Wire::Bytes(text) = wire else { continue };
                    let text = String::from_utf8_lossy(text).into_owned();
                    if number == 1 { api_version = text } else { kind = text }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message = messages::of(&api_version, &kind).ok_or(Unreadable::MediaType)?;
    let mut object = read(raw, message).ok_or_else(broken)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

/// A field as it lies in the bytes.
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message in their order. `None`: the bytes are cut off or no message.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let wire = match tag & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => take(&mut bytes, 8).map(|_| Wire::Other)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Wire::Bytes(take(&mut bytes, length)?)
            }
            5 => take(&mut bytes, 4).map(|_| Wire::Other)?,
            _ => return None,
        };
        found.push((tag >> 3, wire));
    }
    Some(found)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?.first().copied()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn read(bytes: &[u8], message: &[Field]) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    for (number, wire) in fields(bytes)? {
        let Some(field) = message.iter().find(|field| field.number == number) else { continue };
        let name = field.name.to_owned();
        match (field.kind, wire) {
            (Kind::Count, Wire::Varint(0)) => {}
            // A negative number is its two's complement in 64 bits.
            (Kind::Count | Kind::Number, Wire::Varint(value)) => {
                object.insert(name, value.cast_signed().into());
            }
            (Kind::Flag, Wire::Varint(value)) => {
                object.insert(name, (value != 0).into());
            }
            (Kind::Text, Wire::Bytes(bytes)) if !bytes.is_empty() => {
                object.insert(name, String::from_utf8(bytes.to_vec()).ok()?.into());
            }
            (Kind::Json, Wire::Bytes(bytes)) => {
                let raw = fields(bytes)?.into_iter().find_map(|(number, wire)| match (number, wire) {
                    (1, Wire::Bytes(raw)) => Some(raw),
                    _ => None,
                })?;
                object.insert(name, serde_json::from_slice(raw).ok()?);
            }
            // An instant that is not set has no bytes.
            (Kind::Time | Kind::MicroTime, Wire::Bytes(bytes)) if !bytes.is_empty() => {
                object.insert(name, time(bytes, matches!(field.kind, Kind::MicroTime))?.into());
            }
            (Kind::One(message), Wire::Bytes(bytes)) => {
                let below = read(bytes, message)?;
                if !below.is_empty() {
                    object.insert(name, Value::Object(below));
                }
            }
            (Kind::Texts, Wire::Bytes(bytes)) => {
                push(&mut object, name, String::from_utf8(bytes.to_vec()).ok()?.into());
            }
            (Kind::Many(message), Wire::Bytes(bytes)) => {
                push(&mut object, name, Value::Object(read(bytes, message)?));
            }
            (Kind::Map | Kind::Bytes, Wire::Bytes(bytes)) => {
                let (key, value) = entry(bytes, matches!(field.kind, Kind::Bytes))?;
                if let Value::Object(map) = object.entry(name).or_insert_with(|| json!({})) {
                    map.insert(key, value);
                }
            }
            _ => {}
        }
    }
    Some(object)
}

fn push(object: &mut Map<String, Value>, name: String, item: Value) {
    if let Value::Array(items) = object.entry(name).or_insert_with(|| json!([])) {
        items.push(item);
    }
}

fn entry(bytes: &[u8], binary: bool) -> Option<(String, Value)> {
    let (mut key, mut value): (String, Vec<u8>) = Default::default();
    for (number, wire) in fields(bytes)? {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => key = String::from_utf8(bytes.to_vec()).ok()?,
            (2, Wire::Bytes(bytes)) => value = bytes.to_vec(),
            _ => {}
        }
    }
    let value =
        if binary { serde_json::to_value(ByteString(value)).ok()? } else { String::from_utf8(value).ok()?.into() };
    Some((key, value))
}

fn time(bytes: &[u8], micro: bool) -> Option<String> {
    let (mut seconds, mut nanos) = (0, 0);
    for (number, wire) in fields(bytes)? {
        match (number, wire) {
            (1, Wire::Varint(value)) => seconds = value.cast_signed(),
            (2, Wire::Varint(value)) => nanos = i32::try_from(value.cast_signed()).ok()?,
            _ => {}
        }
    }
    let time = Timestamp::new(seconds, if micro { nanos } else { 0 }).ok()?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Some(time.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).expect("short");
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn enveloped(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
        let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC, &field(1, &types), &field(2, message)].concat()
    }

    #[test]
    fn a_config_map_is_read_as_its_json() {
        let metadata = [field(1, b"menu"), field(3, b""), field(8, b"")].concat();
        let entry = [field(1, b"a"), field(2, b"1")].concat();
        let message = [field(1, &metadata), field(2, &entry), vec![4 << 3, 0]].concat();
        assert_eq!(
            decode(&enveloped("v1", "ConfigMap", &message)).expect("read"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu"}, "data": {"a": "1"},
                "immutable": false})
        );
    }

    #[test]
    fn cut_bytes_and_kinds_without_a_form_are_refused() {
        let whole = enveloped("v1", "ConfigMap", &field(1, &field(1, b"menu")));
        for end in MAGIC.len()..whole.len() {
            // Whatever is missing, nothing panics; a cut message is refused or lacks its end.
            let _ = decode(&whole[..end]);
        }
        assert!(matches!(decode(b"k8s\0\xff"), Err(Unreadable::Syntax(_))));
        assert!(matches!(decode(b"{}"), Err(Unreadable::Syntax(_))));
        let stage = enveloped("konfidence.cloud/v1alpha1", "Stage", b"");
        assert!(matches!(decode(&stage), Err(Unreadable::MediaType)));
    }
}
