//! What a name, a label and an annotation may look like, and what the real server says of one that does not.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// A name of most kinds, and a label's prefix: an RFC 1123 subdomain.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > 253 {
        errors.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_label) {
        errors.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL}(\\.{LABEL})*')"
        ));
    }
    errors
}

/// A name of a namespace: an RFC 1123 label.
pub(crate) fn label(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > 63 {
        errors.push("must be no more than 63 characters".to_owned());
    }
    if name.contains('.') && name.split('.').all(is_label) {
        errors.push("must not contain dots".to_owned());
    } else if !is_label(name) {
        errors.push(format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
        ));
    }
    errors
}

/// An RFC 1035 label: what a plural and a kind's lower case must be.
pub(crate) fn dns1035_label(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > 63 {
        errors.push("must be no more than 63 characters".to_owned());
    }
    if !(is_label(name) && name.starts_with(|letter: char| letter.is_ascii_lowercase())) {
        errors.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    errors
}

/// A key of a label, an annotation, and a finalizer: an optional prefix and a name.
pub(crate) fn label_key(key: &str) -> Vec<String> {
    if key.split('/').count() > 2 {
        return vec![format!(
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )];
    }
    qualified_name(key)
}

/// A name with an optional prefix.
pub(crate) fn qualified_name(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                // The same rule, in the words of another layer.
                let words = |error: String| format!("prefix part {}", error.replace("253 characters", "253 bytes"));
                errors.extend(subdomain(prefix).into_iter().map(words));
            }
            name
        }
        None => key,
    };
    if name.contains('/') {
        return vec![format!(
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )];
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        errors.push(format!(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '{QUALIFIED}')"
        ));
    }
    errors
}

/// A value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_qualified(value) {
        errors.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({QUALIFIED})?')"
        ));
    }
    errors
}

/// A key of a `ConfigMap` or Secret.
pub(crate) fn config_map_key(key: &str) -> Vec<String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let mut errors = Vec::new();
    if key.len() > 253 {
        errors.push("must be no more than 253 characters".to_owned());
    }
    if key.is_empty() || !key.chars().all(allowed) {
        errors.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    } else if key == "." || key == ".." {
        errors.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        errors.push("must not start with '..'".to_owned());
    }
    errors
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|letter| alphanumeric(letter) || letter == '-')
}

fn is_qualified(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.ends_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_253_characters_are_the_longest() {
        let longest = format!("{}.{}", "a".repeat(126), "b".repeat(126));
        assert_eq!(subdomain(&longest), Vec::<String>::new());
        assert_eq!(subdomain(&format!("{longest}c")), ["must be no more than 253 characters"]);
    }

    #[test]
    fn bad_names_are_told_apart() {
        for good in ["a", "a-b", "1.2.x"] {
            assert!(subdomain(good).is_empty(), "{good}");
        }
        for bad in ["", "A", "-a", "a-", "a..b", ".a", "a_b", "ä"] {
            assert!(!subdomain(bad).is_empty(), "{bad}");
        }
        assert!(qualified_name("konfidence.cloud/promoted-by").is_empty());
        assert!(!qualified_name("a/b/c").is_empty());
        assert!(label_value("").is_empty());
        assert!(!label_value("a b").is_empty());
    }
}
