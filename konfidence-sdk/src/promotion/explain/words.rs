//! Steps, doubts and lists in words.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::promotion::steps::{Action, Step};
use crate::promotion::verify::Doubt;

/// One step of the next plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextStep {
    /// Name of the promotion, or of the config where it is the config that is written.
    pub subject: String,
    /// What becomes of it: `starts`, `is superseded`.
    pub step: &'static str,
}

impl NextStep {
    pub(super) fn of(step: &Step) -> Self {
        Self { subject: step.subject.clone(), step: phrase(step.action) }
    }
}

impl Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject, self.step)
    }
}

fn phrase(action: Action) -> &'static str {
    match action {
        Action::ReportReady => "reports whether it is ready",
        Action::ReserveSequence => "skips a sequence whose name is taken",
        Action::Create => "is made",
        Action::AwaitApproval => "shows that it waits for approval",
        Action::Supersede => "is superseded",
        Action::Block => "is blocked",
        Action::Start => "starts",
        Action::StoreStage => "notes which Stage it writes",
        Action::Attempt => "notes another attempt",
        Action::WriteStage(_) => "writes its Stage",
        Action::Finish => "succeeds",
        Action::Fence => "fences its Stage",
        Action::Fail => "fails",
        Action::NoteRefusal => "notes that its fence is refused",
        Action::WriteConfigStatus => "reports its sequence and last results",
        Action::Delete => "is cleaned up",
    }
}

/// What the live read is about.
pub(super) fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Owner => "which config stands under this name".into(),
        Doubt::Initialise => "the highest sequence that a promotion of this name holds".into(),
        Doubt::Config => "the config, whose view is older than the newest promotion".into(),
        Doubt::Source => "the source, whose view is older than the newest promotion".into(),
        Doubt::Creation => "config, source, target and promotions, whose views do not vouch for each other".into(),
        Doubt::Gone(stage) => format!("whether Stage {stage} is gone"),
    }
}

/// So many items of a list are named; a flow with hundreds of candidates is to be read by people still.
const NAMED: usize = 10;

/// The items in a row, the last of a long list as their number. As data they are all there.
pub(super) fn listed<T: Display>(items: &[T], separator: &str) -> String {
    let named = if items.len() > NAMED { NAMED - 1 } else { items.len() };
    let mut words: Vec<_> = items.iter().take(named).map(ToString::to_string).collect();
    if named < items.len() {
        words.push(format!("and {} more", items.len() - named));
    }
    words.join(separator)
}

pub(super) fn indented(item: &dyn Display) -> String {
    item.to_string().replace('\n', "\n  ")
}
