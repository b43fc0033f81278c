use kernels::tensor::{Dims, elements};

use super::{KEY, QUERY, STATE, VALUE};
use crate::plan::{Bind, BindError};

/// Sizes of a node.
pub(super) struct Sizes {
    /// The axes of the tokens: all of them, or batch and tokens.
    pub tokens: Dims,
    pub batch: usize,
    pub q_heads: usize,
    pub v_heads: usize,
    pub key_width: usize,
    pub value_width: usize,
}

impl Sizes {
    /// Reads the shapes of the inputs.
    ///
    /// # Errors
    /// When they do not fit together.
    pub fn of(b: &Bind<'_>) -> Result<Self, BindError> {
        let query = b.dims(QUERY)?;
        let state = if b.has_input(STATE) { Some(b.dims(STATE)?) } else { None };
        let wrong = || BindError::new(format!("a query of shape {query:?} does not fit a state of shape {state:?}"));
        let mut sizes = if b.has_input(KEY) {
            let (key, value) = (b.dims(KEY)?, b.dims(VALUE)?);
            let [tokens @ .., q_heads, key_width] = query.as_slice() else { return Err(wrong()) };
            let [value_tokens @ .., v_heads, value_width] = value.as_slice() else { return Err(wrong()) };
            if key != query || value_tokens != tokens {
                return Err(BindError::new(format!("query, key and value have shapes {query:?}, {key:?}, {value:?}")));
            }
            let (tokens, batch) = (Dims::from_slice(tokens), 0);
            let [q_heads, v_heads, key_width, value_width] = [*q_heads, *v_heads, *key_width, *value_width];
            Self { tokens, batch, q_heads, v_heads, key_width, value_width }
        } else {
            let (Some([_, v_heads, value_width, key_width]), [tokens @ .., width]) =
                (state.as_deref(), query.as_slice())
            else {
                return Err(wrong());
            };
            let own = width.checked_sub(v_heads * value_width).ok_or_else(wrong)?;
            let (tokens, q_heads, batch) = (Dims::from_slice(tokens), own / (2 * key_width).max(1), 0);
            if q_heads * 2 * key_width != own {
                return Err(wrong());
            }
            let [v_heads, key_width, value_width] = [*v_heads, *key_width, *value_width];
            Self { tokens, batch, q_heads, v_heads, key_width, value_width }
        };
        sizes.batch = match (sizes.tokens.as_slice(), &state) {
            (&[batch, _], _) => batch,
            (&[_], Some(state)) => state.first().copied().unwrap_or(0),
            _ => return Err(wrong()),
        };
        let expected = sizes.state();
        let whole = sizes.q_heads > 0 && sizes.v_heads.is_multiple_of(sizes.q_heads);
        let fits = state.as_ref().is_none_or(|state| state.as_slice() == expected) && sizes.batch > 0;
        match whole && fits && sizes.rows().is_multiple_of(sizes.batch) {
            true => Ok(sizes),
            false => Err(wrong()),
        }
    }

    /// Shape of the state.
    pub fn state(&self) -> [usize; 4] {
        [self.batch, self.v_heads, self.value_width, self.key_width]
    }

    /// Tokens of all sequences.
    pub fn rows(&self) -> usize {
        elements(&self.tokens)
    }
}
