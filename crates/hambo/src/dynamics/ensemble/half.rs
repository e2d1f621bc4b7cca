//! A fit that was interrupted: all that it takes to go on and end with the same bits.

use ndarray::Array2;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use super::best::Best;
use crate::dataset::Subset;
use crate::error::{BoxError, Error, Result};
use crate::nn::{Adam, Mlps, array};
use crate::progress::Observer;
use crate::rng::{Seed, Stream};

/// Looks at the held-out likelihood between two times that the fit is kept.
pub(super) const LOOKS: usize = 5;

/// How far a fit has come.
pub(super) struct Half {
    pub(super) step: usize,
    pub(super) adam: Adam,
    pub(super) best: Best,
    pub(super) history: Vec<(usize, f64)>,
    pub(super) rng: Stream,
}

/// What is not an array.
#[derive(Serialize, Deserialize)]
struct Rest {
    step: usize,
    adam_steps: i32,
    best_values: Vec<Option<f64>>,
    best_steps: Vec<usize>,
    looks_since: usize,
    history: Vec<(usize, f64)>,
    /// Numbers drawn from the stream of mini-batches.
    drawn: String,
}

/// Where halves of a fit are kept, under a name that changes with everything the fit depends on.
pub(super) struct Keeper<'a> {
    name: String,
    observer: &'a dyn Observer,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        data: &Subset<'_>,
        settings: &str,
        seed: Seed,
        observer: &'a dyn Observer,
    ) -> Self {
        let about = format!(
            "{} {:?} {} {}",
            data.dataset().identity().fingerprint,
            data.episodes(),
            seed.0,
            settings
        );
        let hash = blake3::hash(about.as_bytes()).to_hex();
        Self { name: format!("fit {}", &hash[..32]), observer }
    }

    fn failed(&self) -> impl Fn(BoxError) -> Error + '_ {
        |source| Error::Kept { part: self.name.clone(), source }
    }

    /// Goes on where an earlier fit stopped, if there was one.
    pub(super) fn go_on(&self, fresh: Half, networks: &mut Mlps) -> Result<Half> {
        match self.observer.recall_half(&self.name).map_err(self.failed())? {
            // A file that was cut short is as good as none.
            Some(bytes) if SafeTensors::deserialize(&bytes).is_ok() => {
                fresh.read(&bytes, networks).map_err(self.failed())
            }
            _ => Ok(fresh),
        }
    }

    /// Keeps how far the fit has come.
    pub(super) fn keep(&self, half: &Half, networks: &Mlps) -> Result<()> {
        if !self.observer.keeps_halves() {
            return Ok(());
        }
        self.observer.keep_half(&self.name, &half.write(networks)?).map_err(self.failed())
    }
}

impl Half {
    fn write(&self, networks: &Mlps) -> Result<Vec<u8>> {
        let rest = Rest {
            step: self.step,
            adam_steps: self.adam.steps(),
            best_values: self.best.values.iter().map(|v| v.is_finite().then_some(*v)).collect(),
            best_steps: self.best.steps.clone(),
            looks_since: self.best.looks_since,
            history: self.history.clone(),
            drawn: self.rng.get_word_pos().to_string(),
        };
        let broken = |error: BoxError| Error::Kept { part: "fit".into(), source: error };
        let rest = serde_json::to_vec(&rest).map_err(|error| broken(error.into()))?;
        let params = array(networks.params().clone());
        let mut arrays = vec![("params", params), ("best", self.best.params.clone())];
        if let Some([first, second]) = self.adam.moments() {
            arrays.extend([("first", first), ("second", second)]);
        }
        let bytes: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = arrays
            .into_iter()
            .map(|(name, values)| {
                let shape = values.shape().to_vec();
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                (name, Dtype::F32, shape, bytes)
            })
            .chain([("rest", Dtype::U8, vec![rest.len()], rest)])
            .collect();
        let views = bytes.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            (*name, view.expect("each part has as many bytes as its shape says"))
        });
        Ok(serialize(views, None).expect("names are unique and shapes match"))
    }

    fn read(mut self, bytes: &[u8], networks: &mut Mlps) -> Result<Self, BoxError> {
        let parts = SafeTensors::deserialize(bytes)?;
        let rest: Rest = serde_json::from_slice(parts.tensor("rest")?.data())?;
        let shape = self.best.params.dim();
        let matrix = |name: &str| -> Result<Array2<f32>, BoxError> {
            let view = parts.tensor(name)?;
            let (numbers, _) = view.data().as_chunks::<4>();
            let values = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
            Ok(Array2::from_shape_vec(shape, values)?)
        };
        let device = networks.device();
        networks.set_params(device.tensor(matrix("params")?.view()));
        self.adam = match rest.adam_steps {
            0 => Adam::default(),
            steps => Adam::resumed([matrix("first")?, matrix("second")?], steps, device),
        };
        let values = rest.best_values.into_iter();
        self.best = Best {
            params: matrix("best")?,
            values: values.map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect(),
            steps: rest.best_steps,
            looks_since: rest.looks_since,
        };
        self.rng.set_word_pos(rest.drawn.parse()?);
        (self.step, self.history) = (rest.step, rest.history);
        Ok(self)
    }
}
