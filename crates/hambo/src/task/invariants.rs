//! What is the same in all logged states.

use serde::{Deserialize, Serialize};

use super::StateBounds;

/// What all logged states have in common, and therefore all hallucinated ones: names of columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Invariants {
    /// Columns that never change.
    pub constant: Vec<String>,
    /// Cosine and sine of an angle.
    pub angles: Vec<[String; 2]>,
}

impl Invariants {
    /// One sentence for each kind that there is.
    pub fn sentences(&self) -> Vec<String> {
        let pairs: Vec<String> = self.angles.iter().map(|pair| pair.join(" and ")).collect();
        let kinds = [
            ("constant", self.constant.join(", ")),
            ("the cosine and the sine of an angle", pairs.join("; ")),
        ];
        let found = kinds.into_iter().filter(|(_, columns)| !columns.is_empty());
        found
            .map(|(kind, columns)| {
                format!("As in every row of the data, these columns stay {kind}: {columns}.")
            })
            .collect()
    }
}

impl StateBounds {
    /// What they demand beside limits, of the columns that have a name.
    pub fn invariants(&self, names: &[String]) -> Invariants {
        let pair = |&(cosine, sine): &(usize, usize)| {
            Some([names.get(cosine)?.clone(), names.get(sine)?.clone()])
        };
        Invariants {
            constant: self.constants().filter_map(|column| names.get(column).cloned()).collect(),
            angles: self.angles().iter().filter_map(pair).collect(),
        }
    }
}
