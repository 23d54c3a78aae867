//! A flow of one's own in the simulator, before anything of it exists in a cluster: five stages, two approvals, and a
//! weekend that nobody works.
//!
//! ```text
//!   menu --> dev --> test --> tasting --> preview --> prod
//!                         ^                       ^
//!                     the taster            the head baker         Monday to Friday, 9 to 17
//! ```
//!
//! The program prints who did what when, and what waited for what meanwhile:
//!
//! ```sh
//! cargo run --package weekend
//! ```

mod flow;
mod week;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut script = week::script();
    week::play(&mut script, &mut |_| Ok(()))?;
    print!("{}", script.timeline());
    Ok(())
}
