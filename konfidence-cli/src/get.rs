//! `konfidence get`: what there is.

use clap::{Args, ValueEnum};
use http::HeaderValue;
use http::header::ACCEPT;
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use kube::Resource;
use kube::core::Request;
use kube::core::params::{GetParams, ListParams};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterArgs};
use crate::failure::Failure;
use crate::format::{ObjectFormat, columns, complain, say};
use crate::name;

/// Asks the server to make the table, so that the columns are those of the custom resource definitions and of kubectl.
const TABLE: HeaderValue = HeaderValue::from_static("application/json;as=Table;v=v1;g=meta.k8s.io,application/json");

/// Show promotions, configs, stages, templates or landscapes
#[derive(Args)]
pub(crate) struct Get {
    /// What to show
    #[arg(value_enum, default_value = "promotions")]
    kind: Kind,

    /// One object; all without it
    #[arg(value_parser = name::object)]
    name: Option<String>,

    /// All namespaces
    #[arg(short = 'A', long, conflicts_with = "name")]
    all_namespaces: bool,

    /// How to show it; without it as a table
    #[arg(short, long, value_enum)]
    output: Option<Output>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Whole objects as JSON
    Json,
    /// Whole objects as YAML
    Yaml,
    /// A table with more columns
    Wide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    #[value(aliases = ["promotion", "vp", "vectorpromotion", "vectorpromotions"])]
    Promotions,
    #[value(aliases = ["config", "vpc", "vectorpromotionconfig", "vectorpromotionconfigs"])]
    Configs,
    #[value(aliases = ["stage", "kst"])]
    Stages,
    #[value(aliases = ["template", "vt", "vectortemplate", "vectortemplates"])]
    Templates,
    #[value(aliases = ["landscape", "kls"])]
    Landscapes,
}

impl Kind {
    fn path(self, namespace: Option<&str>) -> String {
        match self {
            Self::Promotions => VectorPromotion::url_path(&(), namespace),
            Self::Configs => VectorPromotionConfig::url_path(&(), namespace),
            Self::Stages => Stage::url_path(&(), namespace),
            Self::Templates => VectorTemplate::url_path(&(), namespace),
            Self::Landscapes => Landscape::url_path(&(), namespace),
        }
    }

    fn plural(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The server's table, `meta.k8s.io/v1`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerTable {
    column_definitions: Vec<Column>,
    #[serde(default)]
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    #[serde(default)]
    priority: i32,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
    #[serde(default)]
    object: Value,
}

impl Get {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        match self.output {
            Some(Output::Json) => self.print_objects(&cluster, ObjectFormat::Json).await,
            Some(Output::Yaml) => self.print_objects(&cluster, ObjectFormat::Yaml).await,
            Some(Output::Wide) => self.print_table(&cluster, true).await,
            None => self.print_table(&cluster, false).await,
        }
    }

    async fn print_objects(&self, cluster: &Cluster, format: ObjectFormat) -> Result<(), Failure> {
        let answer = cluster.client.request(self.request(cluster)?).await;
        let mut answer: Value = answer.map_err(|error| cluster.failure(error))?;
        if self.name.is_some() {
            without_managed_fields(&mut answer);
            return format.print(&answer);
        }
        let items = answer.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
        format.print(&list_of(items))
    }

    async fn print_table(&self, cluster: &Cluster, wide: bool) -> Result<(), Failure> {
        let table = fetch(cluster, self.request(cluster)?).await?;
        if table.rows.is_empty() {
            complain(self.nothing(cluster));
            return Ok(());
        }
        say(table.render(wide, self.all_namespaces))
    }

    fn request(&self, cluster: &Cluster) -> Result<http::Request<Vec<u8>>, Failure> {
        let namespace = (!self.all_namespaces).then_some(cluster.namespace.as_str());
        let requests = Request::new(self.kind.path(namespace));
        match &self.name {
            Some(name) => requests.get(name, &GetParams::default()),
            None => requests.list(&ListParams::default()),
        }
        .map_err(|error| Failure::Usage(error.to_string()))
    }

    fn nothing(&self, cluster: &Cluster) -> String {
        let kind = self.kind.plural();
        if self.all_namespaces {
            return format!("no {kind} in any namespace");
        }
        let hint = if self.kind == Kind::Stages { "; stages live in the namespaces of landscapes" } else { "" };
        format!("no {kind} in namespace {}{hint}; -A looks everywhere", cluster.namespace)
    }
}

/// The wide table of all promotions in the cluster's namespace.
pub(crate) async fn promotions(cluster: &Cluster) -> Result<String, Failure> {
    let requests = Request::new(Kind::Promotions.path(Some(&cluster.namespace)));
    Ok(fetch(cluster, requests.list(&ListParams::default()).map_err(Failure::other)?).await?.render(true, false))
}

async fn fetch(cluster: &Cluster, mut request: http::Request<Vec<u8>>) -> Result<ServerTable, Failure> {
    request.headers_mut().insert(ACCEPT, TABLE);
    cluster.client.request(request).await.map_err(|error| cluster.failure(error))
}

impl ServerTable {
    /// The columns that belong into the table, `wide` or not, after one for the namespace if that is wanted.
    fn render(&self, wide: bool, with_namespace: bool) -> String {
        let shown = |at: usize| wide || self.column_definitions.get(at).is_none_or(|column| column.priority == 0);
        let pick = |cells: &mut dyn Iterator<Item = String>| -> Vec<String> {
            cells.enumerate().filter(|(at, _)| shown(*at)).map(|(_, cell)| cell).collect()
        };
        let with_first = |first: String, mut cells: Vec<String>| {
            if with_namespace {
                cells.insert(0, first);
            }
            cells
        };
        let headers = pick(&mut self.column_definitions.iter().map(|column| column.name.clone()));
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| with_first(text(&row.object["metadata"]["namespace"]), pick(&mut row.cells.iter().map(text))))
            .collect();
        columns(&with_first("namespace".into(), headers), &rows)
    }
}

/// Several objects as the one that kubectl would print.
fn list_of(mut items: Vec<Value>) -> Value {
    items.iter_mut().for_each(without_managed_fields);
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// Takes away what fills pages and nobody reads, as kubectl does.
fn without_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// A cell as it is shown.
fn text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
