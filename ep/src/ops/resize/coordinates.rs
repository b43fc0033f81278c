//! Where an element of a resized axis comes from. All is f32, as ONNX Runtime computes it, for ties decide which element is
//! nearest.

use kernels::ops::resample::Term;

/// The place on the old axis of an element of the new one.
#[derive(Clone, Copy)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
}

impl Coordinates {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "half_pixel" => Some(Self::HalfPixel),
            "half_pixel_symmetric" => Some(Self::HalfPixelSymmetric),
            "pytorch_half_pixel" => Some(Self::PytorchHalfPixel),
            "align_corners" => Some(Self::AlignCorners),
            "asymmetric" => Some(Self::Asymmetric),
            "tf_half_pixel_for_nn" => Some(Self::TfHalfPixelForNn),
            _ => None,
        }
    }

    /// The place of element `index` when an axis of `from` elements is resized to `to`.
    fn place(self, index: usize, from: usize, to: usize, scale: f32) -> f32 {
        let x = index as f32;
        match self {
            Self::HalfPixel => (x + 0.5) / scale - 0.5,
            Self::HalfPixelSymmetric => {
                let adjustment = to as f32 / (scale * from as f32);
                let offset = from as f32 / 2.0 * (1.0 - adjustment);
                offset + (x + 0.5) / scale - 0.5
            }
            Self::PytorchHalfPixel | Self::AlignCorners if to == 1 => 0.0,
            Self::PytorchHalfPixel => (x + 0.5) / scale - 0.5,
            Self::AlignCorners => x * (from - 1) as f32 / (to - 1) as f32,
            Self::Asymmetric => x / scale,
            Self::TfHalfPixelForNn => (x + 0.5) / scale,
        }
    }
}

/// Which element is the nearest.
#[derive(Clone, Copy)]
pub(super) enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    /// Down for larger axes, up for smaller ones.
    Outwards,
}

impl Rounding {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "round_prefer_floor" => Some(Self::PreferFloor),
            "round_prefer_ceil" => Some(Self::PreferCeil),
            "floor" => Some(Self::Floor),
            "ceil" => Some(Self::Ceil),
            _ => None,
        }
    }

    fn round(self, x: f32, smaller: bool) -> f32 {
        match self {
            Self::PreferFloor if x == x.floor() + 0.5 => x.floor(),
            Self::PreferFloor | Self::PreferCeil => x.round(),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Outwards if smaller => x.ceil(),
            Self::Outwards => x.trunc(),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Interpolation {
    Nearest(Rounding),
    Linear,
    /// Keys' cubic convolution with this coefficient.
    Cubic {
        a: f32,
        exclude_outside: bool,
    },
}

impl Interpolation {
    /// Number of terms of an element, and the terms of all elements, when an axis of `from` elements is resized to `to`.
    pub fn table(self, coordinates: Coordinates, from: usize, to: usize, scale: f32) -> (usize, Vec<Term>) {
        let places = (0..to).map(|index| coordinates.place(index, from, to, scale));
        match self {
            Self::Nearest(rounding) => {
                let nearest = |x| Term { source: clamp(rounding.round(x, scale < 1.0), from), weight: 1.0 };
                (1, places.map(nearest).collect())
            }
            Self::Linear => (2, places.flat_map(|x| linear(x, from)).collect()),
            Self::Cubic { a, exclude_outside } => {
                (4, places.flat_map(|x| cubic(x, a, exclude_outside, from)).collect())
            }
        }
    }
}

/// The element at `x`, the first or the last one when that is outside.
fn clamp(x: f32, len: usize) -> usize {
    (x.max(0.0) as usize).min(len - 1)
}

fn linear(x: f32, len: usize) -> [Term; 2] {
    let x = x.clamp(0.0, (len - 1) as f32);
    let left = clamp(x, len);
    let right = (left + 1).min(len - 1);
    if left == right {
        return [Term { source: left, weight: 0.5 }; 2];
    }
    let (to_left, to_right) = ((x - left as f32).abs(), (x - right as f32).abs());
    [Term { source: left, weight: to_right }, Term { source: right, weight: to_left }]
}

fn cubic(x: f32, a: f32, exclude_outside: bool, len: usize) -> [Term; 4] {
    let s = x - x.floor();
    let near = |s: f32| ((a + 2.0) * s - (a + 3.0)) * s * s + 1.0;
    let far = |s: f32| ((a * s - 5.0 * a) * s + 8.0 * a) * s - 4.0 * a;
    let mut weights = [far(s + 1.0), near(s), near(1.0 - s), far(2.0 - s)];
    let places = [-1.0, 0.0, 1.0, 2.0].map(|step| x.floor() + step);
    if exclude_outside {
        for (weight, place) in weights.iter_mut().zip(places) {
            if place < 0.0 || place >= len as f32 {
                *weight = 0.0;
            }
        }
        let sum: f32 = weights.iter().sum();
        weights = weights.map(|weight| weight / sum);
    }
    std::array::from_fn(|i| Term { source: clamp(places[i], len), weight: weights[i] })
}
