//! How fast a log becomes a store, in how much memory, and how fast mini-batches come from it.
//!
//!     cargo bench -p hambo-io --bench store -- convert LOG STORE      # rates beside the disk's own
//!     cargo bench -p hambo-io --bench store -- epoch LOG STORE        # the same rows in memory and mapped
//!
//! Logs with the columns of `tests/make/make_large.py`.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use hambo::{Dataset, Seed};
use hambo_io::read::{self, Mapping};
use hambo_io::store;
use rand::RngExt;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [command, log, into] = &arguments[..] else {
        return Err("give convert or epoch, a log and a store".into());
    };
    match &command[..] {
        "convert" => convert(Path::new(log), Path::new(into)),
        "epoch" => epoch(Path::new(log), Path::new(into)),
        _ => Err("give convert or epoch".into()),
    }
}

fn convert(log: &Path, into: &Path) -> Result<(), Box<dyn Error>> {
    let megabytes = size(log)? as f64 / 1e6;
    println!("disk before: {:.0} MB/s written and synchronised", disk(into)?);
    let start = Instant::now();
    let converted = store::convert(log, &Mapping::default(), into)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} rows, {megabytes:.0} MB, in {seconds:.1} s: {:.0} MB/s read, {:.0} MB/s written; peak {} kB",
        converted.data.rows,
        megabytes / seconds,
        size(into)? as f64 / 1e6 / seconds,
        status("VmHWM")?,
    );
    println!("disk after: {:.0} MB/s written and synchronised", disk(into)?);
    let start = Instant::now();
    let dataset = store::open(into)?;
    println!(
        "opened and checked {} rows in {:.1} s; resident {} kB of its own, {} kB of the file",
        dataset.rows(),
        start.elapsed().as_secs_f64(),
        status("RssAnon")?,
        status("RssFile")?,
    );
    Ok(())
}

/// One gigabyte to the disk that holds `beside`, in MB/s.
fn disk(beside: &Path) -> Result<f64, Box<dyn Error>> {
    let path = beside.with_extension("disk-test");
    let block = vec![1_u8; 1 << 24];
    let start = Instant::now();
    let mut file = fs::File::create(&path)?;
    for _ in 0..64 {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    let seconds = start.elapsed().as_secs_f64();
    fs::remove_file(&path)?;
    Ok(64.0 * block.len() as f64 / 1e6 / seconds)
}

fn epoch(log: &Path, into: &Path) -> Result<(), Box<dyn Error>> {
    if !into.exists() {
        store::convert(log, &Mapping::default(), into)?;
    }
    let memory = read::open(log, &Mapping::default())?.dataset;
    let mapped = store::open(into)?;
    let mut ratios = Vec::new();
    for run in 0..7 {
        let (in_memory, in_store) = (one_epoch(&memory), one_epoch(&mapped));
        println!("run {run}: memory {in_memory:.3} s, store {in_store:.3} s");
        ratios.push(in_memory / in_store);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{} rows: the store's speed is {:.0} % of memory's (median of 7; {:.0} to {:.0} %)",
        memory.rows(),
        100.0 * ratios[3],
        100.0 * ratios[0],
        100.0 * ratios[6],
    );
    Ok(())
}

/// Random mini-batches of 256, as many as make an epoch; seconds.
fn one_epoch(dataset: &Dataset) -> f64 {
    let mut rng = Seed(0).stream("batches");
    let mut rows = vec![0; 256];
    let mut sum = 0.0;
    let start = Instant::now();
    for _ in 0..dataset.rows() / rows.len() {
        rows.fill_with(|| rng.random_range(0..dataset.rows()));
        sum += dataset.gather(&rows).rewards[0];
    }
    std::hint::black_box(sum);
    start.elapsed().as_secs_f64()
}

/// Bytes of a file, or of all files in a folder.
fn size(path: &Path) -> Result<u64, Box<dyn Error>> {
    if path.is_file() {
        return Ok(fs::metadata(path)?.len());
    }
    let mut total = 0;
    for entry in fs::read_dir(path)? {
        total += entry?.metadata()?.len();
    }
    Ok(total)
}

/// A line of this process's own status, in kB; Linux only.
fn status(name: &str) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with(name)).ok_or("no such line")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
