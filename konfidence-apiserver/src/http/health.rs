//! Whether the server is well: `/healthz`, `/livez`, `/readyz`.

/// What is looked at. A server in memory that answers has them all.
const CHECKS: &[&str] = &["ping", "log", "etcd"];

/// The answer of a path of health; `None`: it is none.
pub(super) fn answer(parts: &[&str], query: &str) -> Option<String> {
    match parts {
        [name @ ("healthz" | "livez" | "readyz")] if asks_for(query, "verbose").next().is_some() => {
            let excluded: Vec<&str> = asks_for(query, "exclude").collect();
            let lines = CHECKS.iter().map(|check| {
                let how = if excluded.contains(check) { "excluded: ok" } else { "ok" };
                format!("[+]{check} {how}\n")
            });
            Some(format!("{}{name} check passed\n", lines.collect::<String>()))
        }
        ["healthz" | "livez" | "readyz"] => Some("ok".to_owned()),
        ["healthz" | "livez" | "readyz", check] if CHECKS.contains(check) => Some("ok".to_owned()),
        _ => None,
    }
}

/// The values of a name in a query.
fn asks_for<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(move |(one, _)| *one == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn every_check_is_named_to_who_asks() {
        assert_eq!(answer(&["readyz"], "").as_deref(), Some("ok"));
        let told = answer(&["livez"], "verbose&exclude=etcd");
        assert_eq!(told.as_deref(), Some("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nlivez check passed\n"));
        assert_eq!(answer(&["healthz", "nothing"], ""), None);
    }
}
