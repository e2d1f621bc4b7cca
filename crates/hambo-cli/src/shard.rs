//! Work that several processes share.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of `of` shares, the first of which is number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// Whether the work at that place is its own: neighbours, which are often alike, go to different shards.
    pub(crate) fn has(self, index: usize) -> bool {
        index % self.of + 1 == self.number
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("give which one of how many, from 1/4 to 4/4".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        for text in ["", "2", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_policy_is_in_exactly_one_shard() {
        for index in 0..10 {
            let mine = (1..=4).filter(|&number| Shard { number, of: 4 }.has(index));
            assert_eq!(mine.count(), 1, "{index}");
        }
    }
}
