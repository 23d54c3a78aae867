//! Cases from a seed: the same seed makes the same requests.
//!
//! A case is a short life of a few objects in one namespace. Which request comes next, and with which values, is drawn;
//! the values are drawn from pools of good and bad ones, so that most objects are legal and every rule is broken now and
//! then.

mod dice;
mod objects;
mod requests;

use crate::case::Case;
use dice::Dice;

/// How many requests a case is about.
pub const STEPS: usize = 20;

/// `count` cases of about `steps` requests each.
pub fn cases(seed: u64, count: usize, steps: usize) -> Vec<Case> {
    (0..count)
        .map(|number| {
            let mut dice = Dice::new(seed, number);
            Case {
                title: format!("seed {seed}, case {number}"),
                place: format!("seed {seed}:{number}"),
                steps: requests::life(&mut dice, steps),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_cases_and_another_seed_others() {
        assert_eq!(cases(1, 3, 10), cases(1, 3, 10));
        assert_ne!(cases(1, 3, 10), cases(2, 3, 10));
    }

    #[test]
    fn every_kind_of_request_comes_up() {
        let all: Vec<String> = cases(1, 50, 20)
            .iter()
            .flat_map(|case| &case.steps)
            .map(|step| format!("{} {} {:?}", step.method, step.path, step.headers))
            .collect();
        for wanted in [
            "POST",
            "PUT",
            "DELETE",
            "json-patch",
            "merge-patch",
            "strategic",
            "apply-patch",
            "/status",
            "/scale",
            "watch=",
            "dryRun",
            "fieldValidation",
            "labelSelector",
            "limit=",
            "as=Table",
        ] {
            assert!(all.iter().any(|one| one.contains(wanted)), "{wanted}");
        }
    }
}
