//! Content negotiation: which form of the answer a client takes.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status::{ApiError, ApiResult};

/// How the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// JSON with line breaks, for people.
    Pretty,
    /// YAML.
    Yaml,
}

/// What the answer is made into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    #[default]
    Whole,
    /// A `meta.k8s.io/v1` Table.
    Table,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `PartialObjectMetadataList`.
    MetadataList,
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Meta {
    /// `v1`.
    #[default]
    V1,
    /// `v1beta1`, which old clients ask for.
    V1Beta1,
}

/// What a client takes, decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accept {
    /// How it is written.
    pub encoding: Encoding,
    /// What it is made into.
    pub form: Form,
    /// In which version of `meta.k8s.io` a table or metadata alone is written.
    pub meta: Meta,
    /// For the roots of discovery: everything in one answer, in this version of `apidiscovery.k8s.io`.
    pub aggregated: Option<&'static str>,
}

const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

impl Accept {
    /// The first media range that can be served, in the client's order of preference. `custom`: of a custom resource;
    /// `watch`: as a stream.
    ///
    /// # Errors
    /// 406 when there is none.
    pub(crate) fn of(headers: &HeaderMap, custom: bool, watch: bool) -> ApiResult<Self> {
        Self::of_resource(headers, custom, watch, watch)
    }

    /// How a client takes what comes in one form only; `None`: not at all.
    pub(crate) fn whole(headers: &HeaderMap) -> Option<Encoding> {
        match Self::ranges(headers) {
            ranges if ranges.is_empty() => Some(Encoding::default()),
            ranges => ranges
                .iter()
                .filter_map(|range| Self::serve(range))
                .find(|accept| accept.form == Form::Whole && accept.aggregated.is_none())
                .map(|accept| accept.encoding),
        }
    }

    /// As [`of`](Self::of); `streams`: a watch could be asked for here, too.
    ///
    /// # Errors
    /// 406 when there is none.
    pub(crate) fn of_resource(headers: &HeaderMap, custom: bool, watch: bool, streams: bool) -> ApiResult<Self> {
        let mut ranges = Self::ranges(headers);
        if ranges.is_empty() {
            return Ok(Self::default());
        }
        if !custom {
            ranges.retain(|range| !range.starts_with("application/*"));
        }
        let served = ranges.iter().find_map(|range| Self::serve(range));
        match served {
            Some(accept) if !(watch && accept.encoding == Encoding::Yaml) => Ok(accept),
            Some(_) => Err(ApiError::not_acceptable(STREAMS)),
            // What serves the built-in groups knows the media type only.
            None if !custom && !ranges.iter().any(|range| is_known(range)) => {
                let available = if streams { format!("{MEDIA_TYPES}, {STREAMS}") } else { MEDIA_TYPES.to_owned() };
                Err(ApiError::no_representation(&available))
            }
            None => Err(ApiError::not_acceptable(if watch { STREAMS } else { MEDIA_TYPES })),
        }
    }

    /// The media ranges in the client's order of preference; empty: anything will do.
    fn ranges(headers: &HeaderMap) -> Vec<&str> {
        let values: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if values.iter().all(|value| value.trim().is_empty()) {
            return Vec::new();
        }
        let mut ranges: Vec<(u16, &str)> =
            values.iter().flat_map(|value| value.split(',')).map(|range| (quality(range), range.trim())).collect();
        // Stable: among equals the client's order counts.
        ranges.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
        ranges.retain(|(quality, _)| *quality > 0);
        ranges.into_iter().map(|(_, range)| range).collect()
    }

    fn serve(range: &str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let encoding = match parts.next()? {
            "application/json" | "*/*" | "application/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => return None,
        };
        let mut accept = Self { encoding, ..Self::default() };
        let (mut kind, mut group, mut version) = ("", "", "");
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => kind = value,
                Some(("g", value)) => group = value,
                Some(("v", value)) => version = value,
                Some(("pretty", value)) if value != "0" && encoding == Encoding::Json => {
                    accept.encoding = Encoding::Pretty;
                }
                _ => {}
            }
        }
        match (kind, group, version) {
            ("", _, _) => {}
            ("Table", "meta.k8s.io", "v1") => accept.form = Form::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1") => accept.form = Form::Metadata,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1") => accept.form = Form::MetadataList,
            ("Table" | "PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1beta1") => {
                accept.meta = Meta::V1Beta1;
                accept.form = match kind {
                    "Table" => Form::Table,
                    "PartialObjectMetadata" => Form::Metadata,
                    _ => Form::MetadataList,
                };
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => accept.aggregated = Some("v2"),
            _ => return None,
        }
        Some(accept)
    }
}

fn is_known(range: &str) -> bool {
    let media_type = range.split(';').next().unwrap_or_default().trim();
    matches!(media_type, "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf")
}

/// `q` in thousandths.
fn quality(range: &str) -> u16 {
    let stated = range.split(';').skip(1).find_map(|part| part.trim().strip_prefix("q="));
    let parsed = stated.and_then(|text| text.trim().parse::<f32>().ok()).unwrap_or(1.0).clamp(0.0, 1.0);
    // Between 0 and 1000, so the cast loses only the fraction.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let thousandths = (parsed * 1000.0) as u16;
    thousandths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> ApiResult<Accept> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, value.parse().expect("a header"));
        Accept::of(&headers, true, false)
    }

    #[test]
    fn protobuf_falls_back_to_json_and_alone_is_refused() {
        let both = accept("application/vnd.kubernetes.protobuf,application/json").expect("json");
        assert_eq!(both.encoding, Encoding::Json);
        assert_eq!(accept("application/vnd.kubernetes.protobuf").expect_err("refused").code, 406);
        assert_eq!(accept("*/*").expect("json").encoding, Encoding::Json);
    }

    #[test]
    fn kubectls_tables_are_understood_and_unknown_forms_skipped() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(accept(kubectl).expect("a table").form, Form::Table);
        let old = accept("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json").expect("a table");
        assert_eq!((old.form, old.meta), (Form::Table, Meta::V1Beta1));
        let unknown = "application/json;as=Table;v=v7;g=meta.k8s.io,application/json";
        assert_eq!(accept(unknown).expect("whole").form, Form::Whole);
        assert_eq!(accept("application/json;q=0.1,application/yaml").expect("yaml").encoding, Encoding::Yaml);
    }
}
