//! Named random streams.
//!
//! A run has one seed; every stage draws from a stream of its own, named after the stage. A new
//! stage, or a stage that draws more numbers than before, therefore never changes the numbers of
//! another one.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The generator behind every stream: fast, portable, the same on every machine.
pub type Stream = ChaCha8Rng;

/// The seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed of its own for a part called `name`.
    pub fn child(self, name: &str) -> Self {
        Self(self.stream(name).next_u64())
    }

    /// The stream called `name`. The same seed and name give the same numbers, always.
    pub fn stream(self, name: &str) -> Stream {
        let mut stream = Stream::seed_from_u64(self.0);
        stream.set_stream(fnv1a(name.as_bytes()));
        stream
    }
}

/// A stream of its own for every row of a batch, so that what one row draws changes no other row's
/// numbers.
///
/// In a rollout rows are episodes, and each keeps its stream when others end: two rollouts of a
/// stochastic policy from equal streams are comparable pair by pair, whoever ends earlier.
#[derive(Debug, Clone)]
pub struct RowStreams {
    base: Stream,
    streams: Vec<Option<Stream>>,
    /// Which of the streams each row has.
    of_rows: Vec<usize>,
}

impl RowStreams {
    /// For a batch of so many rows.
    pub fn new(rng: &mut Stream, rows: usize) -> Self {
        let base = Stream::seed_from_u64(rng.next_u64());
        Self { base, streams: vec![None; rows], of_rows: (0..rows).collect() }
    }

    /// The next batch has a row for each of these.
    pub(crate) fn select(&mut self, rows: &[usize]) {
        self.of_rows.clear();
        self.of_rows.extend_from_slice(rows);
    }

    /// The stream of a row of the present batch.
    pub fn row(&mut self, row: usize) -> &mut Stream {
        let index = self.of_rows[row];
        self.streams[index].get_or_insert_with(|| {
            let mut stream = self.base.clone();
            stream.set_stream(index as u64);
            stream
        })
    }
}

/// At most so many of the numbers below `count`.
pub(crate) fn some_of(count: usize, most: usize, rng: &mut Stream) -> Vec<usize> {
    match u32::try_from(count) {
        _ if count <= most => (0..count).collect(),
        // As small as possible, because there may be very many.
        Ok(count) => {
            let mut all: Vec<u32> = (0..count).collect();
            all.partial_shuffle(rng, most).0.iter().map(|&number| number as usize).collect()
        }
        Err(_) => rand::seq::index::sample(rng, count, most).into_vec(),
    }
}

/// FNV-1a, because it is stable across versions and platforms, which `std`'s hasher is not.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_decided_by_seed_and_name_alone() {
        let draw = |seed, name| Seed(seed).stream(name).next_u64();
        assert_eq!(draw(1, "split"), draw(1, "split"));
        assert_ne!(draw(1, "split"), draw(1, "fit"));
        assert_ne!(draw(1, "split"), draw(2, "split"));
    }

    #[test]
    fn fnv1a_matches_its_published_test_vectors() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_row_keeps_its_numbers_when_others_are_gone_or_draw_more() {
        let streams = || RowStreams::new(&mut Seed(0).stream("rows"), 3);
        let (mut all, mut some) = (streams(), streams());
        let whole: Vec<u64> = (0..3).map(|row| all.row(row).next_u64()).collect();
        some.row(0).next_u64();
        some.row(0).next_u64();
        some.select(&[2]);
        assert_eq!(some.row(0).next_u64(), whole[2]);
        assert!(whole[0] != whole[1] && whole[1] != whole[2]);
    }
}
