//! The order in which keys are written.

use std::cmp::Ordering;

/// The order of keys: numbers in them by their value, letters after everything else.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (Some(&left), Some(&right)) = (a.get(at), b.get(at)) else { return Ordering::Equal };
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left.cmp(&right),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number is no leading one.
    let zero = left == '0' || right == '0';
    let before = a.get(..at).unwrap_or_default().iter().rev().take_while(|digit| digit.is_numeric());
    let start = u64::from(zero && before.into_iter().any(|digit| *digit != '0'));
    let number = |text: &[char]| {
        let digits = text.get(at..).unwrap_or_default().iter().map_while(|digit| digit.to_digit(10));
        digits.fold((start, 0_usize), |(value, count), digit| {
            (value.wrapping_mul(10).wrapping_add(u64::from(digit)), count + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn numbers_in_keys_count_by_their_value_and_letters_come_last() {
        let mut keys = ["k10", "k2", "k", "b", "f:x", ".", "k02", "a_b", "ab", "A"];
        keys.sort_by(|a, b| natural(a, b));
        assert_eq!(keys, [".", "A", "a_b", "ab", "b", "f:x", "k", "k2", "k02", "k10"]);
    }
}
