//! Whose turn it is: how many worlds there are at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use real_apiserver::{Disk, Real, Server, real};

use crate::Kind;

/// Worlds with an embedded server at a time. More would only wait for a processor, and miss their deadlines.
const EMBEDDED: usize = 6;

/// Real servers of one's own, each with one world at a time: controllers see a whole cluster.
const REAL: usize = 3;

struct Places {
    embedded: usize,
    /// Those that nobody uses now.
    real: Vec<usize>,
}

static PLACES: Mutex<Option<Places>> = Mutex::new(None);
static LEFT: Condvar = Condvar::new();

/// The right to have a world; ends with the value.
#[derive(Debug)]
pub struct Turn {
    pub(crate) kind: Kind,
    /// Which of the real servers.
    pub(crate) place: usize,
}

fn places() -> MutexGuard<'static, Option<Places>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_users_cluster() -> bool {
    std::env::var_os("KUBECONFIG").is_some_and(|path| !path.is_empty())
}

impl Turn {
    /// Waits for a place.
    pub fn take(kind: Kind) -> Self {
        let mut guard = places();
        loop {
            let places = guard.get_or_insert_with(|| {
                let real = if is_users_cluster() { 1 } else { REAL };
                Places { embedded: EMBEDDED, real: (0..real).rev().collect() }
            });
            let place = match kind {
                Kind::Real => places.real.pop(),
                Kind::InProcess | Kind::OverTcp if places.embedded == 0 => None,
                Kind::InProcess | Kind::OverTcp => {
                    places.embedded -= 1;
                    Some(0)
                }
            };
            match place {
                Some(place) => return Self { kind, place },
                None => guard = LEFT.wait(guard).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// The real server of this place, started when it is first asked for. `None`: there is none on this machine.
    pub(crate) fn real(&self) -> Option<Real> {
        static STARTED: Mutex<[Option<&'static Server>; REAL]> = Mutex::new([None; REAL]);
        // It says so where there is none, and fails where there has to be one.
        let first = real()?;
        if self.place == 0 {
            return Some(first);
        }
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = started[self.place].get_or_insert_with(|| {
            // Lives until the process ends, and is killed with it.
            Box::leak(Box::new(Server::start(Disk::Unsynced).expect("another real API server starts")))
        });
        Some(Real::Own(server))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(places) = places().as_mut() {
            match self.kind {
                Kind::Real => places.real.push(self.place),
                Kind::InProcess | Kind::OverTcp => places.embedded += 1,
            }
        }
        LEFT.notify_all();
    }
}
