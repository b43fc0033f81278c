//! The two 16-bit float formats.

/// A 16-bit float format with IEEE's special values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float16 {
    /// IEEE binary16.
    Binary,
    /// bfloat16.
    Brain,
}

impl Float16 {
    /// The format that MCPM.BF16 selects.
    pub const fn new(bf16: bool) -> Float16 {
        if bf16 { Float16::Brain } else { Float16::Binary }
    }

    const fn mantissa_bits(self) -> u32 {
        match self {
            Float16::Binary => 10,
            Float16::Brain => 7,
        }
    }

    /// The biased exponent of infinity.
    const fn top_exponent(self) -> u16 {
        (1 << (15 - self.mantissa_bits())) - 1
    }

    const fn bias(self) -> i32 {
        self.top_exponent() as i32 / 2
    }

    /// The value of `bits`.
    pub fn widen(self, bits: u16) -> f64 {
        let mantissa = bits & ((1 << self.mantissa_bits()) - 1);
        let exponent = (bits & 0x7fff) >> self.mantissa_bits();
        let magnitude = if exponent == self.top_exponent() {
            if mantissa == 0 { f64::INFINITY } else { f64::NAN }
        } else {
            let hidden = u16::from(exponent > 0) << self.mantissa_bits();
            let scale = i32::from(exponent.max(1)) - self.bias() - self.mantissa_bits() as i32;
            f64::from(hidden | mantissa) * power_of_two(scale)
        };
        if bits >> 15 == 0 { magnitude } else { -magnitude }
    }

    /// `value` rounded to nearest, ties to even; the canonical NaN for any NaN.
    pub fn round(self, value: f64) -> u16 {
        let infinity = self.top_exponent() << self.mantissa_bits();
        if value.is_nan() {
            return infinity | 1 << (self.mantissa_bits() - 1);
        }
        let sign = u16::from(value.is_sign_negative()) << 15;
        let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        // The weight of the last mantissa bit; a magnitude divided by it is exact, and below 2^53.
        let last = exponent.max(1 - self.bias()) - self.mantissa_bits() as i32;
        if exponent > self.bias() {
            return sign | infinity;
        }
        let units = (value.abs() * power_of_two(-last)).round_ties_even() as u16;
        // The units carry the hidden bit, so that a carry out of the mantissa steps the exponent right.
        let steps = (last + self.mantissa_bits() as i32 + self.bias() - 1) as u16;
        sign | (units + (steps << self.mantissa_bits())).min(infinity)
    }
}

/// 2^`exponent` for a normal f64.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_agrees_with_half() {
        for bits in 0..=u16::MAX {
            for (ours, reference) in [
                (Float16::Binary.widen(bits), half::f16::from_bits(bits).to_f64()),
                (Float16::Brain.widen(bits), half::bf16::from_bits(bits).to_f64()),
            ] {
                assert!(ours.to_bits() == reference.to_bits() || ours.is_nan() && reference.is_nan(), "{bits:#06x}");
            }
        }
    }

    #[test]
    fn rounding_takes_the_nearest_and_the_even_of_two() {
        for format in [Float16::Binary, Float16::Brain] {
            let infinity = format.top_exponent() << format.mantissa_bits();
            for bits in 0..infinity {
                let (here, next) = (format.widen(bits), format.widen(bits + 1));
                assert_eq!(format.round(here), bits);
                assert_eq!(format.round(-here), bits | 0x8000);
                if next.is_finite() {
                    let middle = (here + next) / 2.0;
                    assert_eq!(format.round(middle), bits + bits % 2);
                    assert_eq!(format.round(middle.next_down()), bits);
                    assert_eq!(format.round(middle.next_up()), bits + 1);
                }
            }
            let largest = format.widen(infinity - 1);
            let step = largest - format.widen(infinity - 2);
            assert_eq!(format.round((largest + step / 2.0).next_down()), infinity - 1);
            assert_eq!(format.round(largest + step / 2.0), infinity);
            assert_eq!(format.round(f64::MAX), infinity);
            assert_eq!(format.round(f64::NEG_INFINITY), infinity | 0x8000);
            assert!(format.widen(format.round(f64::NAN)).is_nan());
            assert_eq!(format.round(f64::MIN_POSITIVE), 0);
        }
    }
}
