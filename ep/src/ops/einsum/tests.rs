use crate::Error;
use crate::ir::Attr;
use crate::ops::attention_testing::value;
use crate::testing::{Model, Value};

fn run(equation: &str, dims: &[&[usize]]) -> Result<Value, Error> {
    let names = ["a", "b", "c"];
    let mut model = Model::new();
    let mut given = Vec::new();
    for (index, dims) in dims.iter().enumerate() {
        model.input::<f32>(names[index], dims);
        given.push(value(dims, index));
    }
    let attrs = vec![("equation", Attr::Str(equation.into()))];
    model.version(12).node("Einsum", &names[..dims.len()], &["y"], attrs).output("y");
    Ok(model.run(&given)?.remove(0))
}

/// The definition: `terms` are indices of operands by letter, ellipses written out as letters.
fn expected(terms: &[&str], output: &str, dims: &[&[usize]]) -> Vec<f64> {
    let mut letters: Vec<char> = output.chars().collect();
    for c in terms.iter().flat_map(|term| term.chars()) {
        if !letters.contains(&c) {
            letters.push(c);
        }
    }
    let size = |c: char| {
        let axes = terms.iter().zip(dims).flat_map(|(term, dims)| term.chars().zip(dims.iter()));
        axes.filter(|(other, _)| *other == c).map(|(_, &dim)| dim).max().unwrap()
    };
    let sizes: Vec<usize> = letters.iter().map(|&c| size(c)).collect();
    let total: usize = sizes.iter().product();
    let kept: usize = sizes[..output.len()].iter().product();
    let mut y = vec![0.0; kept];
    for index in 0..total {
        let mut place = vec![0; letters.len()];
        let mut rest = index;
        for axis in (0..letters.len()).rev() {
            place[axis] = rest % sizes[axis];
            rest /= sizes[axis];
        }
        let mut product = 1.0;
        for (operand, (term, dims)) in terms.iter().zip(dims).enumerate() {
            let offset = term.chars().zip(dims.iter()).fold(0, |offset, (c, &dim)| {
                let at = place[letters.iter().position(|&other| other == c).unwrap()];
                offset * dim + if dim == 1 { 0 } else { at }
            });
            product *= f64::from(value(dims, operand).values::<f32>()[offset]);
        }
        y[index / (total / kept)] += product;
    }
    y
}

fn check(equation: &str, plain: &str, dims: &[&[usize]], out: &[usize]) {
    let (left, output) = plain.split_once("->").unwrap();
    let expected = expected(&left.split(',').collect::<Vec<_>>(), output, dims);
    let y = run(equation, dims).unwrap();
    assert_eq!(y.dims.as_slice(), out, "{equation}");
    for (y, expected) in y.values::<f32>().iter().zip(&expected) {
        assert!((f64::from(*y) - expected).abs() < 1e-5, "{equation}: {y} for {expected}");
    }
}

#[test]
fn products_of_two() {
    for (equation, dims, out) in [
        ("ij,jk->ik", [&[3, 4][..], &[4, 5]], &[3, 5][..]),
        ("ij,kj->ki", [&[3, 4], &[5, 4]], &[5, 3]),
        ("i,j->ij", [&[3], &[4]], &[3, 4]),
        ("i,i->", [&[7], &[7]], &[]),
        ("bhqd,bhkd->bhqk", [&[2, 3, 4, 5], &[2, 3, 6, 5]], &[2, 3, 4, 6]),
        ("bqhd,bkhd->bhqk", [&[2, 4, 3, 5], &[2, 6, 3, 5]], &[2, 3, 4, 6]),
        ("bhqk,bkhd->bqhd", [&[2, 3, 4, 6], &[2, 6, 3, 5]], &[2, 4, 3, 5]),
        ("abcd,cde->abe", [&[2, 3, 4, 5], &[4, 5, 6]], &[2, 3, 6]),
        ("abcd,dce->abe", [&[2, 3, 4, 5], &[5, 4, 6]], &[2, 3, 6]),
        ("bij,b->bij", [&[2, 3, 4], &[2]], &[2, 3, 4]),
        ("ij,kl->l", [&[2, 3], &[4, 5]], &[5]),
        ("bij,bjk->bik", [&[1, 3, 4], &[2, 4, 5]], &[2, 3, 5]),
    ] {
        check(equation, equation, &dims, out);
    }
}

#[test]
fn one_and_three_operands() {
    check("ij->ji", "ij->ji", &[&[3, 4]], &[4, 3]);
    check("ij->i", "ij->i", &[&[3, 4]], &[3]);
    check("ii->i", "ii->i", &[&[3, 3]], &[3]);
    check("ijj->", "ijj->", &[&[2, 3, 3]], &[]);
    check("ij,jk,kl->il", "ij,jk,kl->il", &[&[2, 3], &[3, 4], &[4, 5]], &[2, 5]);
    check("ij,ij,j->i", "ij,ij,j->i", &[&[2, 3], &[2, 3], &[3]], &[2]);
}

#[test]
fn ellipses_and_implicit_outputs() {
    check("...ij,...jk->...ik", "xyij,yjk->xyik", &[&[2, 3, 4, 5], &[3, 5, 6]], &[2, 3, 4, 6]);
    check("...ii->...i", "xii->xi", &[&[2, 3, 3]], &[2, 3]);
    check(" ba , cb ", "ba,cb->ac", &[&[3, 4], &[5, 3]], &[4, 5]);
    check("b...a", "bxa->xab", &[&[2, 3, 4]], &[3, 4, 2]);
}

#[test]
fn empty_sums_are_zero() {
    let y = run("ij,jk->ik", &[&[2, 0], &[0, 3]]).unwrap();
    assert_eq!(y, Value::new(&[2, 3], &[0f32; 6]));
    assert_eq!(run("ij,jk->ik", &[&[0, 2], &[2, 3]]).unwrap().dims.as_slice(), [0, 3]);
}

#[test]
fn what_is_wrong_is_refused() {
    let fails = |equation, dims: &[&[usize]], text: &str| {
        let error = run(equation, dims).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    fails("ij,jk->ix", &[&[2, 3], &[3, 4]], "not understood");
    fails("ij,jk->ii", &[&[2, 3], &[3, 4]], "not understood");
    fails("ij->i", &[&[2, 3], &[3, 4]], "not understood");
    fails("i1->i", &[&[2, 3]], "not understood");
    fails("ij,jk->ik", &[&[2, 3], &[4, 4]], "sizes 3 and 4");
    fails("ij->i", &[&[2]], "does not fit an operand");
}
