//! Tests of the tables against published numbers, and of samples against tables and formulas.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

pub(super) mod page;

const SAMPLES: u32 = 1_000_000;

/// The means that the sources of the tables state, or that follow from their points by hand, in
/// bytes; and the default interpolation.
const PUBLISHED: [(&str, usize, Interpolation, f64); 17] = {
    use Interpolation::{Linear, Step};
    [
        ("web-search", 12, Linear, 1_711_250.0),
        ("web-search-pias", 12, Linear, 1_665_831.0),
        ("web-search-powertcp", 16, Linear, 1_711_223.0),
        ("data-mining-vl2", 13, Linear, 12_658_199.0),
        ("data-mining-pias", 9, Linear, 7_470_236.0),
        ("homa-w1", 300, Step, 189.0),
        ("homa-w2", 152, Step, 442.0),
        ("homa-w3", 842, Step, 2_928.0),
        ("homa-w4", 460, Step, 127_797.0),
        ("homa-w5", 400, Step, 2_564_690.0),
        ("google-rpc", 843, Linear, 2_892.0),
        ("google-rpc-conweave", 120, Linear, 2_968.0),
        ("facebook-hadoop", 20, Linear, 120_421.0),
        ("facebook-hadoop-2015", 461, Linear, 121_849.0),
        ("facebook-hkust", 17, Linear, 342.0),
        ("alibaba-storage", 9, Linear, 40_870.0),
        ("solar", 8, Linear, 39_424.0),
    ]
};

#[test]
fn every_table_has_the_published_mean() {
    assert_eq!(
        tables().iter().map(|shipped| shipped.name).collect::<Vec<_>>(),
        PUBLISHED.map(|(name, ..)| name)
    );
    for (name, points, interpolation, mean) in PUBLISHED {
        let shipped = named(name).unwrap();
        assert_eq!(
            (shipped.points, shipped.table.interpolation()),
            (points, interpolation),
            "{name}"
        );
        // The published means are whole bytes, and halves were rounded up.
        assert!((shipped.table.mean() - mean).abs() <= 0.5, "{name}: {}", shipped.table.mean());
    }
}

#[test]
fn the_mean_of_web_search_by_hand() {
    // Widths of the steps of probability, times the middle and times the upper end, in kB.
    let linear = 0.15 * 5.0
        + 0.05 * 15.0
        + 0.1 * 25.0
        + 0.1 * 40.0
        + 0.13 * 65.0
        + 0.07 * 140.0
        + 0.1 * 600.0
        + 0.1 * 1_500.0
        + 0.1 * 3_500.0
        + 0.07 * 7_500.0
        + 0.03 * 20_000.0;
    let step = 0.15 * 10.0
        + 0.05 * 20.0
        + 0.1 * 30.0
        + 0.1 * 50.0
        + 0.13 * 80.0
        + 0.07 * 200.0
        + 0.1 * 1_000.0
        + 0.1 * 2_000.0
        + 0.1 * 5_000.0
        + 0.07 * 10_000.0
        + 0.03 * 30_000.0;
    let shipped = named("web-search").unwrap();
    assert!((shipped.mean_linear - linear * 1_000.0).abs() < 1e-3, "{}", shipped.mean_linear);
    assert!((shipped.mean_step - step * 1_000.0).abs() < 1e-3, "{}", shipped.mean_step);
}

#[test]
fn scripts_of_the_sources_load_links_with_these_means() {
    // The published means are in packets of 1,460 B, rounded.
    for (name, packets, within) in
        [("web-search-pias", 1_138.0, 4.0), ("data-mining-pias", 5_117.0, 1.0)]
    {
        let mean = named(name).unwrap().table.mean() / 1_460.0;
        assert!((mean - packets).abs() < within, "{name}: {mean}");
    }
}

#[test]
fn tables_of_one_name_in_the_literature_are_not_one_table() {
    let mean = |name: &str| named(name).unwrap().table.mean();
    // 0.98 at 100 MB against 0.99 at 97 MB.
    let vl2 = named("data-mining-vl2").unwrap();
    let pias = named("data-mining-pias").unwrap();
    assert_eq!((vl2.table.quantile(0.98), pias.table.quantile(0.99)), (100e6, 97_333_820.0));
    assert!((1.69..1.70).contains(&(mean("data-mining-vl2") / mean("data-mining-pias"))));
    assert!((1.49..1.51).contains(&(mean("homa-w5") / mean("web-search"))));
}

#[test]
fn reading_by_steps_makes_no_table_smaller_and_web_search_far_larger() {
    for shipped in tables() {
        assert!(shipped.mean_step > shipped.mean_linear, "{}", shipped.name);
    }
    let web_search = named("web-search").unwrap();
    assert!((1.42..1.43).contains(&(web_search.mean_step / web_search.mean_linear)));
    // Segments of Homa's W5 are close to each other, so the interpolation hardly matters.
    let w5 = named("homa-w5").unwrap();
    assert!((1.01..1.02).contains(&(w5.mean_step / w5.mean_linear)));
}

fn draw(sizes: &Sizes, seed: u64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..SAMPLES).map(|_| sizes.sample(&mut random).get() as f64).collect()
}

fn average(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Fails unless `measured`, the mean of `SAMPLES` values with this variance, is close to
/// `expected`: within four standard errors. That is one failure in 16,000 seeds, and the seeds are
/// fixed.
fn assert_mean(what: &str, measured: f64, expected: f64, variance: f64, rounding: f64) {
    let bound = 4.0 * (variance / f64::from(SAMPLES)).sqrt() + rounding;
    assert!(
        (measured - expected).abs() <= bound,
        "{what}: {measured} is not {expected} within {bound}"
    );
}

/// Fails unless the fraction of samples up to `size` is close to `expected`.
fn assert_part(what: &str, samples: &[f64], size: f64, expected: f64) {
    let part = samples.iter().filter(|sample| **sample <= size).count() as f64 / f64::from(SAMPLES);
    let what = format!("{what}: part up to {size}");
    assert_mean(&what, part, expected, expected * (1.0 - expected), 1e-9);
}

/// The mean of the squares of a table's sizes: a line from a to b has (a^2 + ab + b^2) / 3.
fn mean_square(table: &SizeTable) -> f64 {
    let points: Vec<_> = table.points().collect();
    let first = points[0].0 * points[0].0 * points[0].1;
    points.windows(2).fold(first, |sum, pair| {
        let [(a, low), (b, high)] = [pair[0], pair[1]];
        let square = match table.interpolation() {
            Interpolation::Linear => (a * a + a * b + b * b) / 3.0,
            Interpolation::Step => b * b,
        };
        sum + square * (high - low)
    })
}

/// The fraction of a table's sizes up to `size`, computed from the points. It must not use the
/// quantiles that it is compared with.
fn part_up_to(table: &SizeTable, size: f64) -> f64 {
    let points: Vec<_> = table.points().collect();
    let Some(below) = points.iter().rposition(|point| point.0 <= size) else { return 0.0 };
    match (points.get(below + 1), table.interpolation()) {
        (Some(above), Interpolation::Linear) => {
            let (size_below, part_below) = points[below];
            part_below + (size - size_below) / (above.0 - size_below) * (above.1 - part_below)
        }
        _ => points[below].1,
    }
}

#[test]
fn samples_of_every_table_have_its_mean_and_its_quantiles() {
    for (seed, shipped) in (1..).zip(tables()) {
        for interpolation in [Interpolation::Linear, Interpolation::Step] {
            let table = SizeTable::clone(&shipped.table).with_interpolation(interpolation);
            let what = format!("{} {}", shipped.name, interpolation.as_str());
            let sizes = Sizes::Table(table.clone().into());
            let samples = draw(&sizes, seed);
            assert!(samples.iter().all(|&size| size >= 1.0 && size <= table.largest()), "{what}");
            let mean = sizes.mean();
            let variance = mean_square(&table) - mean * mean;
            // Rounding sizes below half a byte up to one byte moves the mean by at most half a
            // byte.
            let below_half = part_up_to(&table, 0.5);
            assert_mean(&what, average(&samples), mean, variance, below_half * 0.5);
            for probability in [0.05, 0.25, 0.5, 0.75, 0.9, 0.99] {
                // A whole number stands for all sizes that are rounded to it.
                let size = table.quantile(probability).round();
                assert_part(&what, &samples, size, part_up_to(&table, size + 0.4999));
            }
        }
    }
}

#[test]
fn the_median_of_samples_is_the_one_of_the_table() {
    // Web search: 0.5 is 10/13 of the way from 0.4 at 50 kB to 0.53 at 80 kB, 73,077 B. The density
    // there is 0.13 / 30,000 B, so the median of n samples deviates by 1 / (2 density sqrt(n)) =
    // 115 B.
    let mut samples = draw(&Sizes::Table(named("web-search").unwrap().table.clone()), 7);
    samples.sort_by(f64::total_cmp);
    let median = samples[samples.len() / 2];
    assert!((median - (50_000.0 + 30_000.0 * 10.0 / 13.0)).abs() < 4.0 * 115.0, "{median}");
}

#[test]
fn a_discrete_table_gives_no_other_sizes_than_its_own() {
    let table = &named("homa-w5").unwrap().table;
    let sizes: Vec<_> = table.points().map(|(size, _)| size).collect();
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for _ in 0..10_000 {
        let sample = Sizes::Table(table.clone()).sample(&mut random).get() as f64;
        assert!(sizes.contains(&sample), "{sample}");
    }
}

#[test]
fn the_first_ten_samples_of_a_seed_are_these() {
    // Sixteen sizes of equal probability: a sample is the highest hexadecimal digit of the random
    // number, plus one. The digits were computed from the definition of PCG-64-MCG, without this
    // crate.
    let points: Vec<_> = (1..=16).map(|i| format!("{i} {}", f64::from(i) / 16.0)).collect();
    let table =
        SizeTable::parse(&points.join("\n"), "sixteen", Unit::Bytes, Interpolation::Step).unwrap();
    let sizes = Sizes::Table(table.into());
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let first: Vec<_> = (0..10).map(|_| sizes.sample(&mut random).get() - 1).collect();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let digits: Vec<_> = (0..10).map(|_| random.next_u64() >> 60).collect();
    assert_eq!(first, digits);
    assert_eq!(digits, [13, 2, 7, 11, 5, 8, 6, 11, 2, 6]);
}

#[test]
fn known_bits_become_known_sizes() {
    // A line from 0 to 1,600 B: the highest hexadecimal digit is the hundreds. A table that begins
    // at 1/4 and 100 B gives the lowest quarter of the bits that size.
    let linear = |text| SizeTable::parse(text, "f", Unit::Bytes, Interpolation::Linear).unwrap();
    for (text, digit, size) in [
        ("0 0\n1600 1\n", 0, 1),
        ("0 0\n1600 1\n", 1, 100),
        ("0 0\n1600 1\n", 15, 1_500),
        ("100 0.25\n300 0.75\n900 1\n", 0, 100),
        ("100 0.25\n300 0.75\n900 1\n", 3, 100),
        ("100 0.25\n300 0.75\n900 1\n", 8, 200),
        ("100 0.25\n300 0.75\n900 1\n", 14, 600),
    ] {
        let sizes = Sizes::Table(linear(text).into());
        assert_eq!(sizes.sample(&mut Constant(digit << 60)).get(), size, "{text:?} {digit}");
    }
}

#[test]
fn random_bits_become_the_middles_of_equal_parts() {
    let part = 2_f64.powi(-52);
    assert_eq!(unit_interval(0), part / 2.0);
    assert_eq!(unit_interval(1 << 12), part * 1.5);
    assert_eq!(unit_interval(1 << 63), 0.5 + part / 2.0);
    assert_eq!(unit_interval(u64::MAX), 1.0 - part / 2.0);
}

#[test]
fn a_sample_is_the_nearest_byte_and_at_least_one() {
    let near = |size: f64| whole_bytes(size).get();
    assert_eq!([near(0.2), near(1.4), near(1.5), near(1e30)], [1, 1, 2, LARGEST]);
}

#[test]
fn uniform_sizes_include_both_ends_and_no_more() {
    let sizes = Sizes::Uniform(Uniform::new(Bytes::new(3), Bytes::new(6)).unwrap());
    assert_eq!(sizes.mean(), 4.5);
    let samples = draw(&sizes, 1);
    for size in 3..=6 {
        assert_part("uniform", &samples, f64::from(size), f64::from(size - 2) / 4.0);
    }
    assert!(samples.iter().all(|size| (3.0..=6.0).contains(size)));
    // The variance of n equally likely whole numbers is (n^2 - 1) / 12.
    assert_mean("uniform", average(&samples), 4.5, 15.0 / 12.0, 0.0);
}

#[test]
fn exponential_sizes_have_the_mean_and_tail_of_the_formula() {
    let sizes = Sizes::Exponential(Exponential::new(Bytes::from_kb(100)));
    assert_eq!(sizes.mean(), 100_000.0);
    let samples = draw(&sizes, 2);
    assert_mean("exponential", average(&samples), 1e5, 1e10, 0.0);
    for size in [10_000.0, 100_000.0, 500_000.0] {
        assert_part("exponential", &samples, size, 1.0 - (-(size + 0.5) / 1e5_f64).exp());
    }
}

#[test]
fn pareto_sizes_have_the_mean_and_tail_of_the_formula() {
    // Shape 2.5: the smallest size is 100 kB * 1.5 / 2.5, and the variance is low^2 a / ((a - 1)^2
    // (a - 2)).
    let sizes = Sizes::Pareto(Pareto::new(Bytes::from_kb(100), 2.5, None).unwrap());
    let low = 60_000.0_f64;
    assert!((sizes.mean() - 1e5).abs() < 1e-6);
    let samples = draw(&sizes, 3);
    assert!(samples.iter().all(|&size| size >= low));
    assert_mean("pareto", average(&samples), 1e5, low * low * 2.5 / (1.5 * 1.5 * 0.5), 0.0);
    for size in [70_000.0, 120_000.0, 600_000.0] {
        assert_part("pareto", &samples, size, 1.0 - (low / (size + 0.5)).powf(2.5));
    }
}

#[test]
fn a_pareto_distribution_cut_off_has_the_mean_that_is_left() {
    // Shape 2, mean 20 kB, cut off at 40 kB: from 10 kB on, with density 2 low^2 / x^3 / (1 - 1/16)
    // up to 40 kB. The mean is 2 low (1 - 1/4) / (1 - 1/16) = 16 kB, the mean of the squares 2
    // low^2 ln(4) / (1 - 1/16).
    let (low, max) = (10_000.0_f64, 40_000.0);
    let pareto = Pareto::new(Bytes::from_kb(20), 2.0, Some(Bytes::from_kb(40))).unwrap();
    let sizes = Sizes::Pareto(pareto);
    assert!((sizes.mean() - 16_000.0).abs() < 1e-6, "{}", sizes.mean());
    let samples = draw(&sizes, 4);
    assert!(samples.iter().all(|&size| (low..=max).contains(&size)));
    let mean_square = 2.0 * low * low * 4_f64.ln() * 16.0 / 15.0;
    assert_mean("cut off", average(&samples), 16_000.0, mean_square - 16_000.0 * 16_000.0, 0.0);
    for size in [12_000.0, 20_000.0, 35_000.0] {
        let up_to = (1.0 - (low / (size + 0.5)).powi(2)) * 16.0 / 15.0;
        assert_part("cut off", &samples, size, up_to);
    }
}

#[test]
fn the_tail_of_pareto_ends_at_the_largest_size_that_is_simulated() {
    // The smallest part of the unit interval, 2^-53, is (10 MB / x)^1.01 at x of about 6e22.
    let sizes = Sizes::Pareto(Pareto::new(Bytes::from_kb(1_010_000), 1.01, None).unwrap());
    assert_eq!(sizes.sample(&mut Constant(0)).get(), LARGEST);
}

#[test]
fn a_heavy_tail_that_is_not_cut_off_misses_its_mean_in_any_run() {
    // Shape 1.05: the part (low / x)^0.05 of the mean is in sizes above x. A run of n flows sees
    // sizes up to low n^(1 / 1.05), so a run of a million misses (10^-5.714)^0.05, about a half.
    let sizes = Sizes::Pareto(Pareto::new(Bytes::from_kb(100), 1.05, None).unwrap());
    let seen = average(&draw(&sizes, 5)) / sizes.mean();
    assert!((0.3..0.75).contains(&seen), "{seen}");
}

#[test]
fn parameters_that_make_no_distribution_are_refused() {
    let kb = Bytes::from_kb;
    for shape in [1.0, 0.5, -1.0, 101.0, f64::NAN, f64::INFINITY] {
        let error = Pareto::new(kb(1), shape, None).unwrap_err();
        assert!(error.to_string().contains("expected above 1"), "{error}");
    }
    let error = Pareto::new(kb(2), 1.5, Some(kb(2))).unwrap_err();
    assert_eq!(error, SizesError::Max { max: kb(2), mean: kb(2) });
    let error = Uniform::new(kb(2), kb(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "from 2KB to 1KB there is no size; expected the smaller one first"
    );
}

#[test]
fn a_fixed_size_takes_no_random_number() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let sizes = Sizes::Fixed(Bytes::from_kb(64));
    assert_eq!((sizes.sample(&mut random), sizes.mean()), (Bytes::from_kb(64), 64_000.0));
    assert_eq!(random, Pcg64Mcg::seed_from_u64(1));
}

/// A generator that always gives the same number.
struct Constant(u64);

impl rand_core::TryRng for Constant {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("sizes take 64 bits")
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("sizes take 64 bits")
    }
}
