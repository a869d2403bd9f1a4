//! Scenarios that are right but for one thing.

use incast_sim::scenario::Document;

/// A mistake: the right text, the wrong text, line and column of the error, words that it must
/// have.
pub(crate) type Case = (&'static str, &'static str, (usize, usize), &'static [&'static str]);

/// Checks the one line that each case gets, in `good`, which `whole` makes a scenario of.
pub(crate) fn check(good: &str, whole: impl Fn(&str) -> String, cases: &[Case]) {
    let right = Document::parse(whole(good), "good.toml");
    right.unwrap_or_else(|error| panic!("{error}\n{good}"));
    let wrong: Vec<_> = cases.iter().filter_map(|case| complaint(good, &whole, case)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// The complaint about the error that a case gives, if it is not as it should be.
fn complaint(good: &str, whole: impl Fn(&str) -> String, case: &Case) -> Option<String> {
    let &(from, to, (line, column), says) = case;
    assert_eq!(good.matches(from).count(), 1, "{from:?} must be there once");
    let case = format!("{from:?} -> {to:?}");
    match Document::parse(whole(&good.replace(from, to)), "dir/bad.toml") {
        Ok(_) => Some(format!("{case}: accepted")),
        Err(error) => {
            let text = error.to_string();
            let place = format!("dir/bad.toml:{line}:{column}: ");
            let missing: Vec<_> = says.iter().filter(|word| !text.contains(**word)).collect();
            let good = text.starts_with(&place) && missing.is_empty() && is_one_line(&text);
            (!good).then(|| format!("{case}: {text}\n    want {place}and {missing:?}"))
        }
    }
}

pub(crate) fn is_one_line(text: &str) -> bool {
    !text.contains(['\n', '\r']) && !text.trim().is_empty()
}
