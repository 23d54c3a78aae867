//! The commands as scripts see them: output, refusals, exit codes.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use support::{Dev, konfidence, run, vector};

/// A flow with one candidate for stage test.
fn with_a_candidate() -> Dev {
    let dev = Dev::with_three_stages();
    dev.publish("1.0.0");
    dev.until_promotion_is("dev-to-test-1", "Waiting");
    dev
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for arguments in [
        &["frobnicate"][..],
        &["get", "ovens"],
        &["reject", "dev-to-test-1"],
        &["reject", "dev-to-test-1", "--reason", ""],
        &["approve", "dev-to-test-1", "--wait=soon"],
        &["demo", "--pace", "-1"],
        &["get", "--kubeconfig", "a", "--server", "http://127.0.0.1:1"],
        &["get", "stages", "dev", "-A"],
        &["get", "stages", "a/b"],
        &["get", "-n", "a/b"],
        &["get", "-n", ""],
        &["get", "stages", "Dev"],
        &["approve", "a/b"],
        &["approve", ""],
        &["reject", "A", "--reason", "no"],
        &["retry", "a_b"],
        &["release", "-.-"],
        &["suspend", "a b"],
        &["resume", "a."],
        &["promote", "a/b", "bakery//menu:1"],
        &["promote", "menu-to-dev", "menu"],
        &["promote", "menu-to-dev", ""],
        &["dev", "--listen", "nonsense"],
        &["dev", "--listen", ":8420"],
        &["dev", "--listen", "127.0.0.1:70000"],
    ] {
        let ended = run(konfidence().args(arguments));
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: "), "{arguments:?}: {}", ended.stderr);
    }
    run(konfidence().args(["get", "--server", "nonsense"])).fails(2, &["--server nonsense", "http://HOST:PORT"]);
    run(konfidence().args(["explain", "stage/dev", "--server", "http://127.0.0.1:1"])).fails(2, &["stage/dev"]);
    for name in ["A", "config/a/b", "promotion/", ""] {
        run(konfidence().args(["explain", name, "--server", "http://127.0.0.1:1"])).fails(2, &["cannot be explained"]);
    }
    let told = run(konfidence().args(["promote", "menu-to-dev", "menu"])).stderr;
    assert!(told.contains("registry.example/bakery//menu:1.0.0"), "{told}");
}

#[test]
fn a_server_that_does_not_answer_is_exit_code_1() {
    run(konfidence().args(["get", "--server", "http://127.0.0.1:1"])).fails(1, &["127.0.0.1:1"]);
    run(konfidence().args(["approve", "a", "--server", "http://127.0.0.1:1"])).fails(1, &["127.0.0.1:1"]);
    run(konfidence().args(["get"])).fails(1, &["no cluster found", "--server", "KUBECONFIG"]);
    let absent = run(konfidence().args(["get", "--kubeconfig", "/nonexistent"]));
    assert_eq!(absent.stderr.matches("/nonexistent").count(), 1, "{}", absent.stderr);
    absent.fails(1, &["/nonexistent", "current-context", "--server"]);
    let (no_yaml, folder) = ("no kubeconfig\nat all: [\n", support::folder());
    fs::write(folder.join("text"), no_yaml).expect("a file");
    run(konfidence().args(["get", "--kubeconfig"]).arg(folder.join("text"))).fails(1, &["text", "kubeconfig"]);
    for empty in ["{}", "", "current-context: nowhere\n", "apiVersion: v1\nkind: Config\n"] {
        fs::write(folder.join("empty"), empty).expect("a file");
        let ended = run(konfidence().args(["get", "--kubeconfig"]).arg(folder.join("empty")));
        ended.fails(1, &["empty", "current-context", "--server"]);
    }
}

#[test]
fn what_is_not_there_is_exit_code_4() {
    let dev = Dev::with_three_stages();
    for arguments in [
        &["approve", "nothing-1"][..],
        &["reject", "nothing-1", "--reason", "why"],
        &["retry", "nothing-1"],
        &["promote", "nothing", "a//b:1"],
        &["release", "nothing"],
        &["suspend", "nothing"],
        &["resume", "nothing"],
        &["explain", "nothing"],
        &["explain", "config/nothing"],
        &["explain", "promotion/nothing-1"],
        &["explain", "vpc/nothing"],
        &["get", "configs", "nothing"],
    ] {
        dev.konfidence(arguments).fails(4, &["nothing"]);
    }
}

#[test]
fn who_decides_is_what_the_server_says_of_the_caller() {
    let dev = with_a_candidate();
    let told = dev.konfidence(&["approve", "dev-to-test-1", "--wait"]).ok();
    assert!(told.starts_with("promotion bakery/dev-to-test-1 approved by konfidence-dev\n"), "{told}");
    assert!(told.contains("promotion bakery/dev-to-test-1 succeeded"), "{told}");
    let approval = dev.object("bakery", "vp", "dev-to-test-1")["status"]["approval"].clone();
    assert_eq!(approval["approvedBy"], "konfidence-dev");

    let made = dev.konfidence(&["promote", "dev-to-test", &vector("0.9.0"), "--as", "anna", "-o", "json"]).ok();
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let overrules = made["metadata"]["annotations"]["konfidence.cloud/overrules"].as_str().expect("a hold");
    assert!(overrules.contains("anna"), "{overrules}");
    let waited = dev.konfidence(&["approve", "dev-to-test-2", "--wait", "-o", "json"]).ok();
    let waited: Value = serde_json::from_str(&waited).expect("nothing but the promotion");
    assert_eq!(waited["status"]["state"], "Succeeded");
    dev.konfidence(&["approve", "dev-to-test-2", "--as", "a\nb"]).fails(2, &["--as"]);
}

#[test]
fn refusals_are_exit_code_3_and_change_nothing() {
    let dev = with_a_candidate();
    let retried = dev.konfidence(&["retry", "dev-to-test-1"]);
    retried.fails(3, &["dev-to-test-1", "still Waiting"]);
    dev.konfidence(&["retry", "menu-to-dev-1"]).fails(3, &["has succeeded"]);
    dev.konfidence(&["approve", "menu-to-dev-1"]).fails(3, &["menu-to-dev-1"]);
    dev.konfidence(&["release", "dev-to-test"]).fails(3, &["nothing is held"]);
    dev.konfidence(&["suspend", "dev-to-test"]).ok();
    let before = dev.object("bakery", "vpc", "dev-to-test");
    dev.konfidence(&["promote", "dev-to-test", &vector("0.9.0")]).fails(3, &["is suspended"]);
    assert_eq!(dev.object("bakery", "vpc", "dev-to-test"), before);
    assert_eq!(dev.promotions_of("dev-to-test").len(), 1);
    dev.konfidence(&["reject", "dev-to-test-1", "--reason", "no"]).ok();
    dev.konfidence(&["approve", "dev-to-test-1"]).fails(3, &["dev-to-test-1", "PromotionRejected", "no"]);
}

#[test]
fn p16_of_many_approvers_at_once_one_succeeds() {
    let dev = with_a_candidate();
    let approver = |at: usize| {
        let mut command = dev.command(&["approve", "dev-to-test-1", "--as", &format!("approver-{at}")]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let racing: Vec<_> = (0..8).map(approver).collect();
    let ended = racing.into_iter().map(|racing| racing.wait_with_output().expect("it ends"));
    let (won, lost): (Vec<_>, Vec<_>) = ended.partition(|output| output.status.success());
    assert_eq!((won.len(), lost.len()), (1, 7));
    for output in lost {
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    }
    dev.until_promotion_is("dev-to-test-1", "Succeeded");
    let by = dev.object("bakery", "vp", "dev-to-test-1")["status"]["approval"]["approvedBy"].clone();
    let told = String::from_utf8_lossy(&won[0].stdout).into_owned();
    assert!(told.contains(&format!("approved by {}", by.as_str().expect("a name"))), "{told} {by}");
}

#[test]
fn p9_a_config_with_the_longest_name_is_promoted_like_any_other() {
    let dev = Dev::with_three_stages();
    let name = "m".repeat(253);
    let file = dev.folder.join("config.yaml");
    let config = format!(
        "apiVersion: konfidence.cloud/v1alpha1\nkind: VectorPromotionConfig\nmetadata: {{namespace: bakery, name: {name}}}\n\
         spec:\n  source: {{kind: VectorTemplate, name: menu}}\n  target: {{kind: Stage, landscape: eu, name: prod}}\n"
    );
    fs::write(&file, config).expect("a file");
    dev.kubectl(&["apply", "-f", &file.display().to_string()]).ok();
    dev.publish("1.0.0");
    let succeeded = || dev.promotions_of(&name).iter().filter(|(_, state)| state == "Succeeded").count();
    support::eventually("its promotion succeeds", || succeeded() == 1);
    let made = dev.promotions_of(&name);
    assert!(made.len() == 1 && made[0].0.len() <= 253, "{made:?}");
    assert_eq!(dev.vector_of("bakery-eu", "prod"), vector("1.0.0"));
    assert!(dev.konfidence(&["explain", &format!("config/{name}")]).ok().contains("drift: none"));
    assert!(dev.konfidence(&["explain", &format!("promotion/{}", made[0].0)]).ok().contains("is Succeeded"));
}

#[test]
fn waiting_ends_with_what_became_of_the_promotion() {
    let dev = with_a_candidate();
    dev.kubectl(&["delete", "stage", "test", "-n", "bakery-lab"]).ok();
    let ended = dev.konfidence(&["approve", "dev-to-test-1", "--wait=1s"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("has not ended after 1s"), "{}", ended.stderr);
    assert!(ended.stderr.contains("konfidence explain promotion/dev-to-test-1 -n bakery"), "{}", ended.stderr);
    dev.until_promotion_is("dev-to-test-1", "Blocked");

    let waiting = dev
        .command(&["promote", "dev-to-test", &vector("2.0.0"), "--wait"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    dev.until_promotion_is("dev-to-test-2", "Waiting");
    dev.konfidence(&["reject", "dev-to-test-2", "--reason", "too salty"]).ok();
    let ended = waiting.expect("it starts").wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(6));
    let told = String::from_utf8(ended.stderr).expect("text");
    assert!(told.contains("dev-to-test-2 is Failed") && told.contains("too salty"), "{told}");
}

#[test]
fn a_hold_is_released_and_a_rejection_retried() {
    let dev = with_a_candidate();
    dev.konfidence(&["approve", "dev-to-test-1", "--wait"]).ok();
    dev.konfidence(&["promote", "dev-to-test", &vector("0.9.0")]).ok();
    dev.konfidence(&["approve", "dev-to-test-2", "--wait"]).ok();
    assert_eq!(dev.vector_of("bakery-lab", "test"), vector("0.9.0"));
    let told = dev.konfidence(&["explain", "dev-to-test"]).ok();
    assert!(told.contains("dev-to-test-2") && told.contains("konfidence-dev"), "who holds it: {told}");
    dev.konfidence(&["release", "dev-to-test"]).ok();
    // Drift is followed again.
    dev.until_promotion_is("dev-to-test-3", "Waiting");
    assert_eq!(dev.object("bakery", "vp", "dev-to-test-3")["spec"]["vector"], vector("1.0.0"));

    dev.konfidence(&["reject", "dev-to-test-3", "--reason", "not yet"]).ok();
    let told = dev.konfidence(&["retry", "dev-to-test-3"]).ok();
    assert!(told.contains("dev-to-test-4 created") && told.contains("has to be approved"), "{told}");
    dev.konfidence(&["approve", "dev-to-test-4", "--wait"]).ok();
    assert_eq!(dev.vector_of("bakery-lab", "test"), vector("1.0.0"));
}

#[test]
fn a_suspended_flow_makes_nothing_until_it_is_resumed() {
    let dev = Dev::with_three_stages();
    assert_eq!(dev.konfidence(&["suspend", "menu-to-dev"]).ok(), "config bakery/menu-to-dev suspended\n");
    assert_eq!(dev.konfidence(&["suspend", "menu-to-dev"]).ok(), "config bakery/menu-to-dev was suspended already\n");
    dev.publish("1.0.0");
    let told = dev.konfidence(&["explain", "menu-to-dev"]).ok();
    assert!(told.contains("suspended"), "{told}");
    assert_eq!(dev.konfidence(&["resume", "menu-to-dev"]).ok(), "config bakery/menu-to-dev resumed\n");
    dev.until_promotion_is("menu-to-dev-1", "Succeeded");
    assert_eq!(dev.konfidence(&["resume", "menu-to-dev"]).ok(), "config bakery/menu-to-dev was not suspended\n");
}

#[test]
fn get_shows_tables_and_whole_objects() {
    let dev = with_a_candidate();
    let table = dev.konfidence(&["get"]).ok();
    let header: Vec<&str> = table.lines().next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["NAME", "CONFIG", "SOURCE", "TARGET", "STATE", "SEQUENCE", "REASON", "AGE"]);
    assert_eq!(table.lines().count(), 3, "{table}");
    let wide = dev.konfidence(&["get", "vp", "-o", "wide"]).ok();
    assert!(wide.contains("VECTOR") && wide.contains(&vector("1.0.0")), "{wide}");

    // Stages live elsewhere, and somebody who does not know is told.
    let ended = dev.konfidence(&["get", "stages"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("namespaces of landscapes"), "{}", ended.stderr);
    let all = dev.konfidence(&["get", "stages", "-A"]).ok();
    assert!(all.starts_with("NAMESPACE"), "{all}");
    assert_eq!(all.lines().count(), 4, "{all}");

    let one: Value =
        serde_json::from_str(&dev.konfidence(&["get", "promotion", "dev-to-test-1", "-o", "json"]).ok()).expect("JSON");
    assert_eq!(one["kind"], "VectorPromotion");
    assert_eq!(one, dev.object("bakery", "vp", "dev-to-test-1"));
    let list = dev.konfidence(&["get", "landscapes", "-o", "yaml"]).ok();
    let list: Value = serde_saphyr::from_str(&list).expect("YAML");
    assert_eq!((&list["kind"], list["items"].as_array().map(Vec::len)), (&Value::from("List"), Some(2)));
    let explained: Value =
        serde_json::from_str(&dev.konfidence(&["explain", "dev-to-test", "-o", "json"]).ok()).expect("JSON");
    assert_eq!(explained["config"], "bakery/dev-to-test");
    // The kinds go by the names that `get` takes.
    let by_short_name = dev.konfidence(&["explain", "vp/dev-to-test-1"]).ok();
    assert_eq!(by_short_name, dev.konfidence(&["explain", "promotion/dev-to-test-1"]).ok());
}

#[test]
fn a_kubeconfig_leads_to_the_server_too() {
    let dev = Dev::with_three_stages();
    let kubeconfig = dev.folder.join("kubeconfig");
    let by_option = run(konfidence().args(["get", "configs", "-n", "bakery", "--kubeconfig"]).arg(&kubeconfig)).ok();
    let by_variable = run(konfidence().args(["get", "configs", "-n", "bakery"]).env("KUBECONFIG", &kubeconfig)).ok();
    assert_eq!(by_option.lines().count(), 4, "{by_option}");
    assert_eq!(by_variable.lines().count(), 4, "{by_variable}");
    // The context names no namespace.
    let ended = run(konfidence().args(["get", "configs"]).env("KUBECONFIG", &kubeconfig));
    assert_eq!(ended.stderr, "no configs in namespace default; -A looks everywhere\n");
}

#[test]
fn it_is_a_kubectl_plugin_under_another_name() {
    let folder = support::folder();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_konfidence"), folder.join("kubectl-konfidence")).expect("a link");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let help = std::process::Command::new("kubectl").args(["konfidence", "--help"]).env("PATH", path).output();
    let help = String::from_utf8(help.expect("kubectl").stdout).expect("text");
    assert!(help.contains("kubectl konfidence"), "{help}");
}

#[test]
fn the_definitions_that_are_printed_are_those_in_deploy() {
    let printed = run(konfidence().arg("crds")).ok();
    let printed: Vec<Value> = serde_saphyr::from_multiple(&printed).expect("YAML");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds");
    let mut deployed: Vec<Value> = fs::read_dir(folder)
        .expect("deploy/crds")
        .map(|file| fs::read_to_string(file.expect("a file").path()).expect("text"))
        .map(|text| serde_saphyr::from_str(&text).expect("YAML"))
        .collect();
    deployed.sort_by_key(|crd: &Value| crd["metadata"]["name"].to_string());
    assert_eq!(printed, deployed);
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut printing =
        konfidence().arg("crds").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(printing.stdout.take());
    let ended = printing.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(ended.status.code(), Some(141));
}

#[test]
fn an_error_that_nobody_reads_keeps_its_exit_code() {
    let (mut failing, folder) = (konfidence(), support::folder());
    failing.args(["get", "--kubeconfig"]).arg(folder.join("none")).stderr(Stdio::piped());
    let mut failing = failing.spawn().expect("it starts");
    drop(failing.stderr.take());
    assert_eq!(failing.wait().expect("it ends").code(), Some(1));
}

#[test]
fn a_server_without_the_definitions_is_told_with_the_remedy() {
    let dev = Dev::start(&[]);
    let elsewhere = format!("{}/elsewhere", dev.url);
    run(konfidence().args(["get", "--server", &elsewhere])).fails(4, &["/elsewhere", "konfidence crds"]);
    run(konfidence().args(["approve", "a-1", "--server", &elsewhere])).fails(4, &["/elsewhere", "konfidence crds"]);
    dev.kubectl(&["delete", "crd", "stages.konfidence.cloud"]).ok();
    run(konfidence().args(["get", "stages", "--server", &dev.url])).fails(4, &[&dev.url, "konfidence crds"]);
}

#[test]
fn shells_get_their_completion() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(konfidence().args(["completion", shell])).ok().contains("approve"), "{shell}");
    }
}
