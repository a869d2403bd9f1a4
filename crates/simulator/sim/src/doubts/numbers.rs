//! Numbers in few digits, and times as scenarios have them.

/// A number in some significant digits, without zeros at its end.
pub(super) fn significant(value: f64, digits: usize) -> String {
    rounded(value, digits).to_string()
}

/// A number in three digits, or in as many as it has before the point.
pub(super) fn number(value: f64) -> String {
    if value.abs() >= 999.5 { format!("{value:.0}") } else { significant(value, 3) }
}

/// A time in microseconds as a scenario has it, in four digits.
pub(super) fn time(us: f64) -> String {
    let units = [("s", 1e6), ("ms", 1e3), ("us", 1.0), ("ns", 1e-3)];
    let (name, size) = units.into_iter().find(|(_, size)| us >= *size).unwrap_or(units[3]);
    format!("{}{name}", significant(us / size, 4))
}

/// A time above zero, rounded up to two digits.
pub(super) fn two_digits_up(value: f64) -> f64 {
    let digits = format!("{value:e}");
    let exponent = digits.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let scale = power_of_ten(1 - exponent.unwrap_or(0));
    (value * scale).ceil() / scale
}

/// The number nearest to a power of ten.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}
