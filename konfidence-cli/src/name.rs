//! Names at the command line: what can be none is refused before anything is sent, the same by every command.

/// Takes what can be the name of an object: anything else is another path, or none.
pub(crate) fn object(text: &str) -> Result<String, String> {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let legal = edge(text.bytes().next()) && edge(text.bytes().last()) && text.bytes().all(inner);
    if legal && text.len() <= 253 {
        Ok(text.to_owned())
    } else {
        Err("at most 253 lower-case letters, digits, inner dashes and dots are wanted".into())
    }
}

/// Takes what can be the name of a namespace.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    match object(text) {
        Ok(name) if name.len() <= 63 && !name.contains('.') => Ok(name),
        _ => Err("at most 63 lower-case letters, digits and inner dashes are wanted".into()),
    }
}

/// Takes what has the form of a vector.
pub(crate) fn vector(text: &str) -> Result<String, String> {
    const LONGEST: usize = 4096;
    let parts = text.split_once("//").and_then(|(repository, rest)| {
        let (component, version) = rest.rsplit_once(':')?;
        Some([repository, component, version])
    });
    let printable = |part: &&str| !part.is_empty() && !part.chars().any(|it| it.is_whitespace() || it.is_control());
    if parts.is_some_and(|parts| parts.iter().all(printable)) && text.len() <= LONGEST {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "<repository>//<component>:<version> is wanted, such as registry.example/bakery//menu:1.0.0, of at most \
             {LONGEST} bytes"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_names_repository_component_and_version() {
        for text in ["bakery//menu:1", "registry.example:5000/bakery//menu:1.0.0-rc.1", "a//b/c@sha256:0f"] {
            assert_eq!(vector(text).as_deref(), Ok(text));
        }
        let long = format!("bakery//menu:{}", "1".repeat(4096));
        for text in [
            "",
            "menu",
            "menu:1",
            "//menu:1",
            "bakery//:1",
            "bakery//menu",
            "bakery//menu:",
            "a//b: 1",
            "a//b:\n",
            &long,
        ] {
            assert!(vector(text).is_err_and(|why| why.contains("registry.example/bakery//menu:1.0.0")), "{text}");
        }
    }

    #[test]
    fn names_are_those_that_a_server_takes() {
        for text in ["a", "dev-to-test-1", "a.b", "0"] {
            assert_eq!(object(text).as_deref(), Ok(text));
        }
        for text in ["", "A", "a/b", "-a", "a-", ".a", "a.", "a b", "ä", &"a".repeat(254)] {
            assert!(object(text).is_err(), "{text}");
        }
        assert!(namespace("a.b").is_err() && namespace(&"a".repeat(64)).is_err());
        assert_eq!(namespace("bakery").as_deref(), Ok("bakery"));
    }
}
