//! The revision beside the database: which write was the last that anybody was told of.
//!
//! Thirty-two bytes, written in one piece: what this is, the format, the revision, a checksum of the three. It is not
//! synced with every write. A process that is killed leaves the system with the newest one; a machine that loses its
//! power may leave an older one, which proves less and is never wrong.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::{FORMAT, OpenError};

const NAME: u64 = u64::from_le_bytes(*b"konfiden");

/// The file of the newest acknowledged revision.
pub(super) struct Mark(File);

impl Mark {
    /// Takes a file that is open for writing.
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    /// Notes a revision.
    pub(super) fn write(&self, revision: u64) -> io::Result<()> {
        self.0.write_all_at(&encode(FORMAT, revision), 0)
    }

    /// Makes what was noted outlive the machine's power.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    /// The revision that is noted.
    ///
    /// # Errors
    /// When the format is newer, and when the file is not what was written.
    pub(super) fn read(&self, path: &Path) -> Result<u64, OpenError> {
        let mut bytes = [0; 32];
        match self.0.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(OpenError::damaged(path, "it is too short"));
            }
            read => read.map_err(OpenError::io(path))?,
        }
        let [name, format, revision, sum] = words(bytes);
        if name != NAME {
            return Err(OpenError::damaged(path, "it does not say what it is"));
        }
        // What follows the number of a newer format, and how it is checked, is not known here.
        if format > FORMAT {
            return Err(OpenError::Newer { path: path.to_owned(), found: format, known: FORMAT });
        }
        if sum != checksum([name, format, revision]) {
            return Err(OpenError::damaged(path, "its checksum is wrong"));
        }
        Ok(revision)
    }
}

pub(super) fn encode(format: u64, revision: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    let all = [NAME, format, revision, checksum([NAME, format, revision])];
    for (place, word) in bytes.chunks_exact_mut(8).zip(all) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn words(bytes: [u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(place);
        *word = u64::from_le_bytes(eight);
    }
    words
}

fn checksum(words: [u64; 3]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    xxh3_64(&bytes)
}
