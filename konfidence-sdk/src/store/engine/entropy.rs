//! Where uids and generated names come from.

use std::fmt::Write;

/// A source of random bits, 64 a call. [`seeded`] gives the same bits for the same seed, which is what tests and the
/// simulator want; a server passes the operating system's.
pub type Entropy = Box<dyn FnMut() -> u64 + Send>;

/// The alphabet of generated names: no vowels, no digits that look like one, so that no word comes out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many characters are appended to `metadata.generateName`.
const SUFFIX: usize = 5;

/// The longest name that is given; a longer `generateName` is cut before the suffix.
const NAME: usize = 63;

/// Bits that depend on `seed` alone (the generator is splitmix64).
pub fn seeded(seed: u64) -> Entropy {
    let mut state = seed;
    Box::new(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A version 4 UUID.
pub(super) fn uid(entropy: &mut Entropy) -> String {
    let high = (entropy() & !0xf000) | 0x4000;
    let low = (entropy() & (u64::MAX >> 2)) | (1 << 63);
    let mut uid = String::with_capacity(36);
    // Writing into a String cannot fail.
    let _ = write!(
        uid,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    uid
}

/// `base` and five random characters, as the API server answers `metadata.generateName`.
pub(super) fn name(base: &str, entropy: &mut Entropy) -> String {
    let mut name: String = base.chars().take(NAME - SUFFIX).collect();
    let mut bits = entropy();
    for _ in 0..SUFFIX {
        let letters = ALPHABET.len() as u64;
        name.push(ALPHABET.get(usize::try_from(bits % letters).unwrap_or_default()).copied().map_or('b', char::from));
        bits /= letters;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uids_and_another_seed_gives_others() {
        let of = |seed| {
            let mut entropy = seeded(seed);
            (0..100).map(|_| uid(&mut entropy)).collect::<Vec<_>>()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn a_uid_has_the_form_of_a_version_4_uuid() {
        let mut entropy = seeded(1);
        for _ in 0..1000 {
            let uid = uid(&mut entropy);
            let parts: Vec<&str> = uid.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{uid}");
            assert!(parts[2].starts_with('4'), "{uid}");
            assert!(parts[3].starts_with(['8', '9', 'a', 'b']), "{uid}");
        }
    }

    #[test]
    fn a_generated_name_has_five_letters_of_the_alphabet_and_stays_a_label() {
        let mut entropy = seeded(1);
        let name = name(&"a".repeat(80), &mut entropy);
        assert_eq!(name.len(), 63);
        assert!(name[58..].bytes().all(|letter| ALPHABET.contains(&letter)), "{name}");
    }
}
