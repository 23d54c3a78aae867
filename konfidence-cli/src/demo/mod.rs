//! `konfidence demo`: the life of a flow on an embedded server, told as it happens.
//!
//! [`story`] says what happens and what must then be true; [`world`] acts and waits; [`narrator`] prints. The objects
//! are those of `examples/three-stages`.

mod narrator;
mod story;
mod world;

use std::time::Duration;

use clap::Args;

use crate::embedded::Embedded;
use crate::failure::Failure;
use crate::format::say;
use narrator::Narrator;
use world::World;

/// Tell the story of a promotion flow on an embedded server, and check its end
#[derive(Args)]
pub(crate) struct Demo {
    /// Seconds between two steps
    #[arg(long, value_name = "SECONDS", default_value_t = 1.5, value_parser = pace)]
    pace: f64,
}

impl Demo {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let (embedded, mut parts) = Embedded::start("127.0.0.1:0", None).await?;
        let told = tokio::select! {
            told = self.tell(&embedded) => told,
            failure = parts.failure() => Err(failure),
        };
        let stopped = embedded.stop().await;
        told.and(stopped)
    }

    async fn tell(&self, embedded: &Embedded) -> Result<(), Failure> {
        let mut narrator = Narrator::new(Duration::from_secs_f64(self.pace));
        let world = World::make(embedded).await?;
        say(format!("An embedded server with all controllers is at {}.", embedded.url()))?;
        story::run(&world, &mut narrator).await
    }
}

fn pace(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 3600 is wanted".into()),
    }
}
