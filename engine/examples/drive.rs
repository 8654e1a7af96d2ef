//! Drives a plan without Python: `cargo run --release --example drive < plan.json`.
//!
//! Prints each interval's throughput to stderr, and the record to stdout.

use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use std::error::Error;
use std::io::Read;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let drive = Drive::new(Plan::from_json(&text)?)?;
    drive.start()?;
    while !drive.finished() {
        if let Some(text) = drive.next_interval(PATIENCE) {
            let interval: serde_json::Value = serde_json::from_str(&text)?;
            eprintln!("{} {} s: {}", interval["phase"], interval["duration_s"], interval["cpu_s"]);
        }
    }
    if let Some(record) = drive.result(PATIENCE)? {
        println!("{}", serde_json::to_string(&*record)?);
    }
    Ok(())
}
