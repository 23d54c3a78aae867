//! Closed lists of words for open strings: what this version writes, and recognises when it reads.

use thiserror::Error;

/// A word that is not in the list asked. It may stem from a newer version: show it, never guess at it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{list} does not know {word:?}; it may stem from a newer version")]
pub struct UnknownWord {
    /// The list that was asked, e.g. `PromotionState`.
    pub list: &'static str,
    /// The word as it stands.
    pub word: String,
}

/// An enum whose variants are spelled exactly as they are stored.
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $word:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$word_meta])* $word,)+ }

        impl $name {
            /// All words of the list, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$word,)+];

            /// The word as it is stored.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $(stringify!($word) => Ok(Self::$word),)+
                    _ => Err($crate::UnknownWord { list: stringify!($name), word: word.to_owned() }),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().to_owned()
            }
        }
    };
}

pub(crate) use vocabulary;
