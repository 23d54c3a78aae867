//! The table: medians, and what they are of the real server's.

use std::collections::BTreeMap;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::load::Load;
use crate::target::Kind;

/// All that was measured.
#[derive(Default)]
pub(crate) struct Report {
    rates: BTreeMap<(Load, Kind), Vec<f64>>,
    /// Bytes before and after.
    memory: BTreeMap<Kind, (u64, u64)>,
}

impl Report {
    pub(crate) fn add(&mut self, load: Load, kind: Kind, rate: f64) {
        self.rates.entry((load, kind)).or_default().push(rate);
    }

    pub(crate) fn memory(&mut self, kind: Kind, before: u64, after: u64) {
        self.memory.insert(kind, (before, after));
    }

    fn median(&self, load: Load, kind: Kind) -> Option<f64> {
        let mut rates = self.rates.get(&(load, kind))?.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    pub(crate) fn print(&self, objects: u64) {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["", "floor", "memory", "durable", "real", "memory : real", "durable : real"]);
        for load in Load::ALL {
            let [floor, memory, durable, real] = Kind::ALL.map(|kind| self.median(load, kind));
            let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), |rate| format!("{rate:.0}"));
            table.add_row([
                load.name().to_owned(),
                rate(floor),
                rate(memory),
                rate(durable),
                rate(real),
                ratio(memory, real),
                ratio(durable, real),
            ]);
        }
        for (name, of) in [("MB at the start", 0), ("MB with all objects", 1)] {
            #[expect(clippy::cast_precision_loss, reason = "a size to be read")]
            let size = |kind| {
                let (before, after) = self.memory.get(&kind)?;
                Some(*[before, after][of] as f64 / 1e6)
            };
            let [_, memory, durable, real] = Kind::ALL.map(size);
            let text = |size: Option<f64>| size.map_or_else(|| "-".into(), |size| format!("{size:.0}"));
            table.add_row([
                name.to_owned(),
                "-".to_owned(),
                text(memory),
                text(durable),
                text(real),
                ratio(memory, real),
                ratio(durable, real),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        println!("{table}");
        println!(
            "Medians of alternating rounds; memory is resident, with {objects} objects, of etcd and kube-apiserver together. \
             `durable` and `real` sync the disk before they answer. `floor` does nothing: it is what the client costs."
        );
    }
}

fn ratio(ours: Option<f64>, real: Option<f64>) -> String {
    match (ours, real) {
        (Some(ours), Some(real)) if real > 0.0 => format!("{:.2}", ours / real),
        _ => "-".into(),
    }
}
