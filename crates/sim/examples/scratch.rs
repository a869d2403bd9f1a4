//! Scratch: met deadlines of scenarios, and cells.
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&args[0]).unwrap();
    let sets: Vec<&str> = args[2..].iter().map(|s| s.as_str()).collect();
    let doc = Document::parse(text, &args[0]).unwrap().with_set(&sets).unwrap();
    for seed in 1..=1 {
        let mut run = Simulation::new(doc.scenario(), &args[1], seed, TraceConfig::default()).unwrap();
        while run.advance(1 << 16) {}
        let report = run.finish();
        let column = |name: &str| -> Vec<f64> {
            let table = report.tables.iter().find(|t| t.name == "messages").unwrap();
            let column = table.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{:?}", table.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>()));
            match &column.values { incast_table::Values::F64(v) => v.clone(), _ => panic!("{name} is no number") }
        };
        let (late, done) = (column("late_us"), column("completion_us"));
        let mut l: Vec<f64> = late.iter().copied().filter(|x| !x.is_nan()).collect();
        l.sort_by(f64::total_cmp);
        let q = |p: f64| l[((l.len() - 1) as f64 * p) as usize].round();
        let met = l.iter().filter(|&&x| x <= 0.0).count() as f64 / late.len() as f64;
        let mean = done.iter().filter(|x| !x.is_nan()).sum::<f64>() / done.iter().filter(|x| !x.is_nan()).count() as f64;
        println!("{} {:?} met {:.3} of {} mean {:.2} ms late us {:?} qmean {} drops {} unfinished {}", args[1], sets, met, late.len(), mean / 1e3,
            [q(0.01), q(0.1), q(0.5), q(0.9), q(0.99)], report.summary.queue_mean_kb, report.summary.drops, done.iter().filter(|x| x.is_nan()).count());
    }
}
