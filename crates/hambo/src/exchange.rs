//! What work in progress consists of, as bytes: one description, for writing it and for reading it back.

use ndarray::Array2;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{BoxError, Error, Result};
use crate::nn::{Adam, Mlps, array};
use crate::progress::Observer;
use crate::rng::Stream;

type Done = Result<(), BoxError>;

/// Values by name, on their way into bytes or out of them. Arrays keep their bits.
pub(crate) struct Exchange<'a> {
    way: Way<'a>,
    /// Put before every name.
    prefix: String,
}

enum Way<'a> {
    Write(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>),
    Read(SafeTensors<'a>),
}

/// Something that can be interrupted.
pub(crate) trait Interruptible {
    /// Hands over all that it takes to go on, or replaces it by what was handed over before.
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Done;
}

impl<'a> Exchange<'a> {
    fn new(way: Way<'a>) -> Self {
        Self { way, prefix: String::new() }
    }

    /// A part, whose names need not differ from those of others.
    pub(crate) fn part(&mut self, name: &str, part: &mut dyn Interruptible) -> Done {
        let before = self.prefix.len();
        self.prefix += &format!("{name}: ");
        part.exchange(self)?;
        self.prefix.truncate(before);
        Ok(())
    }

    /// A matrix, whatever its shape is.
    pub(crate) fn matrix(&mut self, name: &str, values: &mut Array2<f32>) -> Done {
        let name = format!("{}{name}", self.prefix);
        match &mut self.way {
            Way::Write(parts) => {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                parts.push((name, Dtype::F32, values.shape().to_vec(), bytes));
            }
            Way::Read(parts) => {
                let view = parts.tensor(&name)?;
                let &[rows, columns] = view.shape() else {
                    return Err(format!("`{name}` is no matrix").into());
                };
                let (numbers, _) = view.data().as_chunks::<4>();
                let read = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
                *values = Array2::from_shape_vec((rows, columns), read)?;
            }
        }
        Ok(())
    }

    /// Anything that JSON can hold.
    pub(crate) fn value<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        value: &mut T,
    ) -> Done {
        let name = format!("{}{name}", self.prefix);
        match &mut self.way {
            Way::Write(parts) => {
                let json = serde_json::to_vec(value)?;
                parts.push((name, Dtype::U8, vec![json.len()], json));
            }
            Way::Read(parts) => *value = serde_json::from_slice(parts.tensor(&name)?.data())?,
        }
        Ok(())
    }

    /// The parameters of networks, whose layout is known.
    pub(crate) fn networks(&mut self, name: &str, networks: &mut Mlps) -> Done {
        let mut params = array(networks.params().clone());
        let expected = params.dim();
        self.matrix(name, &mut params)?;
        if params.dim() != expected {
            return Err(format!("`{name}` is {:?}, expected {expected:?}", params.dim()).into());
        }
        networks.set_params(networks.device().tensor(params.view()));
        Ok(())
    }

    /// The moments of networks' parameters.
    pub(crate) fn adam(&mut self, name: &str, adam: &mut Adam, networks: &Mlps) -> Done {
        let mut steps = adam.steps();
        self.value(&format!("{name}: steps"), &mut steps)?;
        if steps == 0 {
            *adam = Adam::default();
            return Ok(());
        }
        let shape = networks.params().dims();
        let none = || Array2::zeros(shape);
        let mut moments = adam.moments().unwrap_or_else(|| [none(), none()]);
        for (moment, which) in moments.iter_mut().zip(["first", "second"]) {
            self.matrix(&format!("{name}: {which}"), moment)?;
            if moment.shape() != shape {
                return Err(format!("`{name}` is {:?}, expected {shape:?}", moment.shape()).into());
            }
        }
        *adam = Adam::resumed(moments, steps);
        Ok(())
    }

    /// How many numbers were drawn.
    pub(crate) fn stream(&mut self, name: &str, stream: &mut Stream) -> Done {
        let mut drawn = stream.get_word_pos().to_string();
        self.value(name, &mut drawn)?;
        stream.set_word_pos(drawn.parse()?);
        Ok(())
    }
}

/// Where work that is not finished is kept, under a name that changes with everything it depends on.
pub(crate) struct Keeper<'a> {
    name: String,
    observer: &'a dyn Observer,
}

impl<'a> Keeper<'a> {
    /// Of a kind of work, such as `"fit"`, that depends on what `about` says.
    pub(crate) fn new(kind: &str, about: &str, observer: &'a dyn Observer) -> Self {
        let hash = blake3::hash(about.as_bytes()).to_hex();
        Self { name: format!("{kind} {}", &hash[..32]), observer }
    }

    fn failed(&self) -> impl Fn(BoxError) -> Error + '_ {
        |source| Error::Kept { part: self.name.clone(), source }
    }

    /// Goes on where the same work stopped earlier, if it did.
    pub(crate) fn go_on(&self, work: &mut dyn Interruptible) -> Result<()> {
        let bytes = self.observer.recall_half(&self.name).map_err(self.failed())?;
        // A file that was cut short is as good as none.
        let parts = bytes.as_deref().map(SafeTensors::deserialize).and_then(Result::ok);
        match parts {
            Some(parts) => {
                work.exchange(&mut Exchange::new(Way::Read(parts))).map_err(self.failed())
            }
            None => Ok(()),
        }
    }

    /// Keeps how far the work has come.
    pub(crate) fn keep(&self, work: &mut dyn Interruptible) -> Result<()> {
        if !self.observer.keeps_halves() {
            return Ok(());
        }
        let mut exchange = Exchange::new(Way::Write(Vec::new()));
        work.exchange(&mut exchange).map_err(self.failed())?;
        let Way::Write(parts) = exchange.way else { return Ok(()) };
        let views = parts.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            (name, view.expect("each part has as many bytes as its shape says"))
        });
        let bytes = serialize(views, None).expect("names are unique and shapes match");
        self.observer.keep_half(&self.name, &bytes).map_err(self.failed())
    }
}
