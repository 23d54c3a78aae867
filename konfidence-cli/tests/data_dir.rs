//! `konfidence dev --data-dir`: what a user sees of it. What a crash may not do is proven in `crash`.

#![allow(clippy::expect_used, reason = "what fails in a helper fails its test")]

mod support;

use std::fs;
use std::process::Command;

use support::{Dev, eventually, folder, konfidence, run, three_stages, vector};

#[test]
fn a_flow_goes_on_where_it_was_when_the_server_was_killed() {
    let data = folder().join("data").display().to_string();
    let keep = ["--data-dir", data.as_str()];
    let dev = Dev::start(&[&keep[..], &["--apply", &three_stages()]].concat());
    dev.publish("1.0.0");
    dev.until_promotion_is("menu-to-dev-1", "Succeeded");
    dev.until_promotion_is("dev-to-test-1", "Waiting");
    let before = dev.object("bakery", "vectorpromotion", "dev-to-test-1");
    // SIGKILL.
    drop(dev);

    let dev = Dev::start(&keep);
    assert_eq!(dev.vector_of("bakery-lab", "dev"), vector("1.0.0"));
    let after = dev.object("bakery", "vectorpromotion", "dev-to-test-1");
    for field in ["uid", "creationTimestamp", "generation", "ownerReferences", "finalizers"] {
        assert_eq!(before["metadata"][field], after["metadata"][field], "{field}");
    }
    dev.konfidence(&["approve", "dev-to-test-1"]).ok();
    dev.until_promotion_is("dev-to-test-1", "Succeeded");
    assert_eq!(dev.end_by("-TERM").code(), Some(0));
    Dev::start(&keep).until_promotion_is("dev-to-test-1", "Succeeded");
}

#[test]
fn a_second_process_on_the_directory_is_refused_in_one_line() {
    let data = folder().join("data").display().to_string();
    let _dev = Dev::start(&["--data-dir", &data]);
    let second = run(konfidence().args(["dev", "--listen", "127.0.0.1:0", "--data-dir", &data]));
    second.fails(1, &[&data, "in use by another process"]);
}

#[test]
fn a_damaged_or_unusable_directory_is_refused_in_one_line_with_the_remedy() {
    let data = folder().join("data");
    let path = data.display().to_string();
    drop(Dev::start(&["--data-dir", &path]));
    let mut start = konfidence();
    start.args(["dev", "--listen", "127.0.0.1:0", "--data-dir", &path]);
    let objects = data.join("objects.redb");
    let whole = fs::read(&objects).expect("the file");
    for damaged in [&whole[..whole.len() / 2], b"something else", b""] {
        fs::write(&objects, damaged).expect("a file");
        run(&mut start).fails(1, &["objects.redb is damaged", "put the whole directory back from a copy"]);
    }
    fs::write(&objects, whole).expect("a file");
    drop(Dev::start(&["--data-dir", &path]));

    let file = folder().join("file");
    fs::write(&file, "").expect("a file");
    let file = file.display().to_string();
    run(konfidence().args(["dev", "--listen", "127.0.0.1:0", "--data-dir", &file])).fails(1, &[&file]);
}

#[test]
fn a_full_disk_refuses_writes_says_why_and_loses_nothing() {
    let data = folder().join("data").display().to_string();
    // A limit on the length of files stands for a full disk: both fail in the middle of a write.
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"trap "" XFSZ; exec prlimit --fsize=1500000:unlimited "$@""#, "sh"]);
    limited.arg(konfidence().get_program()).env_remove("KUBECONFIG").env("HOME", "/nonexistent");
    let dev = Dev::start_by(limited, &["--data-dir", &data]);
    let content = format!("--from-literal=a={}", "x".repeat(100_000));
    let create = |name: &str| dev.kubectl(&["create", "configmap", name, &content]);
    let mut kept = Vec::new();
    let told = loop {
        let name = format!("c{}", kept.len());
        let created = create(&name);
        if created.code != Some(0) {
            break created.stderr;
        }
        kept.push(name);
        assert!(kept.len() < 30, "it is never full");
    };
    assert!(told.contains("InternalError") || told.contains("Internal error"), "{told}");
    assert!(dev.stderr().contains("the data directory takes no writes"), "{}", dev.stderr());
    assert_eq!(dev.kubectl(&["get", "configmap", &kept[0]]).code, Some(0), "reads go on");

    let prlimit = Command::new("prlimit").args(["--fsize=unlimited", "--pid", &dev.pid()]).status();
    assert!(prlimit.expect("prlimit").success());
    eventually("writes are taken again", || create("later").code == Some(0));
    assert!(dev.stderr().contains("the data directory takes writes again"), "{}", dev.stderr());
    drop(dev);

    let dev = Dev::start(&["--data-dir", &data]);
    for name in kept.iter().map(String::as_str).chain(["later"]) {
        dev.kubectl(&["get", "configmap", name]).ok();
    }
}
