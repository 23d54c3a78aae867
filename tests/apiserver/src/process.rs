//! Processes that are gone when they should be.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::Error;

/// Waits until its standard input ends, which it does also when whoever holds it is killed, and then kills the command.
const SUPERVISE: &str =
    r#""$@" & child=$!; trap '' INT TERM HUP; read -r _; kill -KILL $child; wait $child 2>/dev/null"#;

/// A process that ends with this value, or with the process that holds it, however that ends.
#[derive(Debug)]
pub(crate) struct Supervised {
    shell: Child,
    held: Option<ChildStdin>,
}

impl Supervised {
    pub(crate) fn start(binary: &Path, arguments: &[String], log: &Path) -> Result<Self, Error> {
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISE, "supervised"]).arg(binary).args(arguments);
        command.stdin(Stdio::piped()).process_group(0);
        let mut shell = logged(&mut command, log)?;
        let held = shell.stdin.take();
        Ok(Self { shell, held })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.held = None;
        let _ = self.shell.wait();
    }
}

/// Starts a process that outlives this one. Answers its id.
pub(crate) fn detached(binary: &Path, arguments: &[String], log: &Path) -> Result<u32, Error> {
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    Ok(logged(&mut command, log)?.id())
}

fn logged(command: &mut Command, log: &Path) -> Result<Child, Error> {
    let open = || File::options().create(true).append(true).open(log);
    let (out, err) =
        open().and_then(|out| Ok((out, open()?))).map_err(Error::file(format!("open {}", log.display())))?;
    command.stdout(out).stderr(err);
    command.spawn().map_err(|error| Error::Start(format!("{command:?} does not start: {error}")))
}

/// Kills `process` if it still runs `binary`: its number may belong to somebody else by now.
pub(crate) fn kill(process: u32, binary: &Path) {
    let runs = std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == binary);
    if runs {
        let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
    }
}
