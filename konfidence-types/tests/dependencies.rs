//! Whoever reads a kind does not pay for a client.

use std::process::Command;

#[test]
fn no_runtime_and_no_client_in_the_tree() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--package", "konfidence-types", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.starts_with("konfidence-types "), "no tree: {tree}");
    for line in tree.lines() {
        let name = line.split(' ').next().unwrap();
        let banned = ["tokio", "hyper", "tower", "rustls", "kube-client", "kube-runtime"];
        assert!(!banned.contains(&name), "{line} is in the tree");
    }
}
