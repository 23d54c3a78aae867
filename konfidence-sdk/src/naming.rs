//! Derived names and label values that stay legal and unique for every legal input.
//!
//! A name that has to be cut carries a hash of what was cut, **and** a form that an uncut one cannot have. The hash
//! alone would not do: `<prefix>-<hash>` is itself a legal name that somebody may choose for a config of their own.

/// Longest name of an object (a DNS subdomain), in characters.
const NAME_MAX: usize = 253;
/// Longest value of a label, in characters.
const LABEL_MAX: usize = 63;
/// Characters of the hash in a shortened name: all of 128 bits.
const HASH: usize = 25;

/// `Fnv(s, n)` of routing.md section 2: a hash of `s` as `n` characters that are legal in every Kubernetes name.
///
/// It is FNV-1a with 32 bits for `n` up to 7, 64 up to 13 and 128 above, written without vowels, so that no word
/// arises by accident. It is not cryptographic: it tells names apart, it does not keep anybody from making two alike.
///
/// ```
/// assert_eq!(konfidence_sdk::naming::fnv("bakery:eu", 8), "qzrh65pn");
/// ```
pub fn fnv(s: &str, n: usize) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let digits = base_36(match n {
        0..=7 => fnv_1a(s, 0x811c_9dc5, 0x0100_0193, u32::MAX.into()),
        8..=13 => fnv_1a(s, 0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3, u64::MAX.into()),
        _ => fnv_1a(s, 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, 0x0100_0000_0000_0000_0000_013b, u128::MAX),
    });
    let padding = std::iter::repeat_n(b'0', n.saturating_sub(digits.len()));
    let padded = padding.chain(digits.iter().copied()).map(|b| char::from(ALPHABET[usize::from(b) % ALPHABET.len()]));
    padded.skip(digits.len().saturating_sub(n)).collect()
}

/// FNV-1a modulo a power of two; `mask` keeps its bits. The low bits of a product depend on low bits alone, so one
/// width of arithmetic serves all.
fn fnv_1a(s: &str, offset: u128, prime: u128, mask: u128) -> u128 {
    s.bytes().fold(offset, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime) & mask)
}

/// `number` in base 36, lower case, as ASCII.
fn base_36(mut number: u128) -> Vec<u8> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = Vec::new();
    loop {
        // A remainder of 36 is always below 36.
        digits.push(DIGITS[usize::try_from(number % 36).unwrap_or_default()]);
        number /= 36;
        if number == 0 {
            digits.reverse();
            return digits;
        }
    }
}

/// The name of the promotion `sequence` of `config`: `<config>-<sequence>` (P9).
///
/// Where that would pass 253 characters it is `<start of config>-<hash of config>.<sequence>`. An uncut name never has
/// a dot before its sequence, so no config, however named, shares a name with another.
///
/// ```
/// assert_eq!(konfidence_sdk::naming::promotion_name("menu-to-dev", 7), "menu-to-dev-7");
/// ```
pub fn promotion_name(config: &str, sequence: i64) -> String {
    let whole = format!("{config}-{sequence}");
    if whole.len() <= NAME_MAX {
        return whole;
    }
    let end = format!("-{}.{sequence}", fnv(config, HASH));
    // A cut may fall behind a dot, and no part of a DNS name begins with a dash.
    format!("{}{end}", cut(config, NAME_MAX - end.len()).trim_end_matches(['.', '-']))
}

/// The label value that selects the promotions of `config` (P9): the name itself where it fits.
///
/// Where it passes 63 characters it is `<start of config>_<hash of config>`. No object's name has an underscore, so no
/// shortened value equals an unshortened one.
///
/// ```
/// assert_eq!(konfidence_sdk::naming::config_label("menu-to-dev"), "menu-to-dev");
/// ```
pub fn config_label(config: &str) -> String {
    if config.len() <= LABEL_MAX {
        return config.to_owned();
    }
    format!("{}_{}", cut(config, LABEL_MAX - 1 - HASH), fnv(config, HASH))
}

/// What every derived name of a managed namespace begins with.
const MANAGED: &str = "kden-l-";
/// Characters of the hash at its end.
const MANAGED_HASH: usize = 8;

/// The derived name of the managed namespace of `landscape` in `project` (R60): at most 62 characters for the 46 that
/// a landscape's name may have.
///
/// ```
/// assert_eq!(konfidence_sdk::naming::managed_namespace("bakery", "eu"), "kden-l-eu-qzrh65pn");
/// ```
pub fn managed_namespace(project: &str, landscape: &str) -> String {
    format!("{}-{}", managed_namespace_stem(landscape), fnv(&format!("{project}:{landscape}"), MANAGED_HASH))
}

/// The part of [`managed_namespace`] that does not depend on the project: what the landscape alone tells.
pub fn managed_namespace_stem(landscape: &str) -> String {
    format!("{MANAGED}{landscape}")
}

/// The stem of `namespace`, if its name can be a derived one.
pub fn stem_of_managed_namespace(namespace: &str) -> Option<&str> {
    let (stem, hash) = namespace.rsplit_once('-')?;
    (stem.starts_with(MANAGED) && hash.len() == MANAGED_HASH).then_some(stem)
}

/// The first `length` bytes of `text`, or fewer where that would split a character.
fn cut(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const VECTOR: &str = "registry.example.com/vectors//shop.example.com/shop:2026.8.20-101500000Z";

    #[test]
    fn fnv_gives_the_worked_examples_of_the_specification() {
        let version =
            |stage: &str, generation: u64| format!("{stage}-{}", fnv(&format!("{stage}-{VECTOR}-{generation}"), 13));
        assert_eq!(version("dev", 1), "dev-57jvdbz6dmfc9");
        assert_eq!(version("dev", 3), "dev-57jvfz4g67zdc");
        assert_eq!(version("test", 1), "test-4v4l865n42s7w");
        assert_eq!(fnv("shop:blue", 8), "97g7qdpg");
        assert_eq!(fnv("bakery:eu", 8), "qzrh65pn");
    }

    #[test]
    fn r60_the_stem_of_a_derived_namespace_leads_back_to_its_landscape() {
        for landscape in ["eu", "eu-west-1", "kden-l-eu", &"x".repeat(46)] {
            let namespace = managed_namespace("bakery", landscape);
            assert!(namespace.len() <= 63, "{namespace}");
            assert_eq!(stem_of_managed_namespace(&namespace), Some(&*managed_namespace_stem(landscape)));
        }
        assert_eq!(stem_of_managed_namespace("kube-system"), None);
        assert_eq!(stem_of_managed_namespace("kden-l-eu"), None);
    }

    #[test]
    fn fnv_is_fnv_1a_at_each_width() {
        // Published test vectors of FNV-1a for "foobar".
        assert_eq!(fnv_1a("foobar", 0x811c_9dc5, 0x0100_0193, u32::MAX.into()), 0xbf9c_f968);
        assert_eq!(fnv_1a("foobar", 0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3, u64::MAX.into()), 0x8594_4171_f739_67e8);
        assert_eq!(
            fnv_1a("foobar", 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, 0x0100_0000_0000_0000_0000_013b, u128::MAX),
            0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18
        );
    }

    #[test]
    fn p9_a_name_that_fits_is_not_touched() {
        let longest = "a".repeat(251);
        assert_eq!(promotion_name(&longest, 1), format!("{longest}-1"));
        assert_eq!(config_label(&"a".repeat(63)), "a".repeat(63));
    }

    #[test]
    fn p9_a_config_named_like_a_shortened_one_shares_no_name_with_it() {
        let long = "a".repeat(253);
        let shortened = promotion_name(&long, 1);
        assert_eq!(shortened.len(), 253);
        let (imitation, _) = shortened.rsplit_once(['.', '-']).unwrap();
        assert_ne!(promotion_name(imitation, 1), shortened);
        assert_ne!(config_label(&config_label(&long).replace('_', "-")), config_label(&long));
        assert_ne!(config_label(&config_label(&long).replace('_', ".")), config_label(&long));
    }

    #[test]
    fn p9_a_cut_behind_a_dot_or_a_dash_leaves_a_legal_name() {
        for filler in ["a.", "a-", "a--"] {
            for shift in 0..4 {
                let mut config = format!("{}{}", "b".repeat(shift), filler.repeat(130));
                config.truncate(252);
                config.push('z');
                let name = promotion_name(&config, 12);
                assert!(is_subdomain(&name), "{name}");
            }
        }
    }

    /// What the API server accepts as the name of a custom resource.
    fn is_subdomain(name: &str) -> bool {
        let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let part = |part: &str| {
            let bytes = part.as_bytes();
            bytes.iter().all(|b| alnum(*b) || *b == b'-')
                && bytes.first().copied().is_some_and(alnum)
                && bytes.last().copied().is_some_and(alnum)
        };
        name.len() <= 253 && name.split('.').all(part)
    }

    /// What the API server accepts as the value of a label.
    fn is_label_value(value: &str) -> bool {
        let alnum = |b: u8| b.is_ascii_alphanumeric();
        let bytes = value.as_bytes();
        value.len() <= 63
            && bytes.iter().all(|b| alnum(*b) || b"-_.".contains(b))
            && bytes.first().copied().is_some_and(alnum)
            && bytes.last().copied().is_some_and(alnum)
    }

    /// Legal config names, most of them near the limits and full of what a cut may fall upon.
    fn config() -> impl Strategy<Value = String> {
        let head = prop_oneof![Just(0usize), 30usize..70, 200usize..253];
        (head, "[a-c0-9.-]{1,253}", 1usize..=253).prop_filter_map("not a legal name", |(head, tail, length)| {
            let mut name = format!("{}{tail}", "a".repeat(head));
            name.truncate(if head == 0 { length } else { (head + length).min(253) });
            while name.contains("..") || name.contains(".-") || name.contains("-.") {
                name = name.replace("..", ".a").replace(".-", ".b").replace("-.", "c.");
            }
            let name = name.trim_matches(['.', '-']).to_owned();
            is_subdomain(&name).then_some(name)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn p9_every_name_and_label_is_legal(config in config(), sequence in 0i64..(1 << 53)) {
            let name = promotion_name(&config, sequence);
            prop_assert!(is_subdomain(&name), "{name}");
            let label = config_label(&config);
            prop_assert!(is_label_value(&label), "{label}");
        }

        #[test]
        fn p9_two_configs_never_share_a_name_or_a_label(
            configs in proptest::collection::btree_set(config(), 2..6),
            sequences in proptest::collection::btree_set(0i64..1_000_000_000, 1..4),
        ) {
            let labels: BTreeSet<String> = configs.iter().map(|config| config_label(config)).collect();
            prop_assert_eq!(labels.len(), configs.len());
            let names: BTreeSet<String> = configs
                .iter()
                .flat_map(|config| sequences.iter().map(|sequence| promotion_name(config, *sequence)))
                .collect();
            prop_assert_eq!(names.len(), configs.len() * sequences.len());
        }

        #[test]
        fn p9_a_shared_prefix_longer_than_the_cut_is_told_apart(prefix in 230usize..250, a in "[a-z0-9]{3}", b in "[a-z0-9]{3}") {
            prop_assume!(a != b);
            let (one, other) = (format!("{}{a}", "x".repeat(prefix)), format!("{}{b}", "x".repeat(prefix)));
            prop_assert_ne!(promotion_name(&one, 1_000_000), promotion_name(&other, 1_000_000));
            prop_assert_ne!(config_label(&one), config_label(&other));
        }

        #[test]
        fn fnv_has_exactly_the_length_asked_for(s in ".{0,40}", n in 1usize..=25) {
            let hash = fnv(&s, n);
            prop_assert_eq!(hash.len(), n);
            prop_assert!(is_label_value(&hash));
        }
    }
}
