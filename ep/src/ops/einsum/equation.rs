use kernels::tensor::Dims;

use crate::ops::{Code, Decline};
use crate::plan::BindError;

/// An axis: a letter, or one of those that an ellipsis stands for, counted from the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Label {
    Letter(char),
    Ellipsis(usize),
}

/// `None` stands for the ellipsis.
type Term = Vec<Option<char>>;

pub(super) struct Equation {
    inputs: Vec<Term>,
    output: Term,
}

impl Equation {
    /// Reads `text`, an equation of `inputs` operands.
    pub fn parse(text: &str, inputs: usize) -> Result<Self, Decline> {
        let wrong =
            || Decline::new(Code::Attribute, format!("equation '{text}' of {inputs} operands is not understood"));
        let compact: String = text.chars().filter(|c| *c != ' ').collect();
        let (left, right) = match compact.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (compact.as_str(), None),
        };
        let terms: Vec<Term> = left.split(',').map(term).collect::<Option<_>>().ok_or_else(wrong)?;
        let output = match right {
            Some(right) => term(right).ok_or_else(wrong)?,
            None => implicit(&terms),
        };
        let once = |label: &Option<char>| output.iter().filter(|other| *other == label).count() == 1;
        let known = |label: &Option<char>| label.is_none() || terms.iter().flatten().any(|other| other == label);
        if terms.len() != inputs || !output.iter().all(|label| once(label) && known(label)) {
            return Err(wrong());
        }
        Ok(Self { inputs: terms, output })
    }

    pub fn terms(&self) -> usize {
        self.inputs.len()
    }

    /// The labels of every axis of operands of these shapes, and those of the output.
    pub fn expand(&self, shapes: &[Dims]) -> Result<(Vec<Vec<Label>>, Vec<Label>), BindError> {
        let mut longest = 0;
        let mut terms = Vec::with_capacity(shapes.len());
        for (term, dims) in self.inputs.iter().zip(shapes) {
            let letters = term.iter().flatten().count();
            let hidden = dims.len().checked_sub(letters).filter(|&hidden| hidden == 0 || term.contains(&None));
            let hidden = hidden.ok_or_else(|| {
                BindError::new(format!("a term of {letters} letters does not fit an operand of shape {dims:?}"))
            })?;
            longest = longest.max(hidden);
            terms.push(labels(term, hidden));
        }
        Ok((terms, labels(&self.output, longest)))
    }
}

/// `term` with an ellipsis of `hidden` axes.
fn labels(term: &Term, hidden: usize) -> Vec<Label> {
    let mut labels = Vec::new();
    for label in term {
        match label {
            Some(letter) => labels.push(Label::Letter(*letter)),
            None => labels.extend((0..hidden).rev().map(Label::Ellipsis)),
        }
    }
    labels
}

fn term(text: &str) -> Option<Term> {
    let (before, after) = text.split_once("...").map_or((text, None), |(before, after)| (before, Some(after)));
    let letters =
        |text: &str| text.chars().map(|c| c.is_ascii_alphabetic().then_some(Some(c))).collect::<Option<Term>>();
    let mut term = letters(before)?;
    if let Some(after) = after {
        term.push(None);
        term.extend(letters(after)?);
    }
    Some(term)
}

/// The ellipsis, then the letters that come once, in the order of ASCII.
fn implicit(terms: &[Term]) -> Term {
    let all: Vec<char> = terms.iter().flatten().flatten().copied().collect();
    let mut once: Vec<char> =
        all.iter().copied().filter(|c| all.iter().filter(|other| *other == c).count() == 1).collect();
    once.sort_unstable();
    let ellipsis = terms.iter().flatten().any(Option::is_none).then_some(None);
    ellipsis.into_iter().chain(once.into_iter().map(Some)).collect()
}
