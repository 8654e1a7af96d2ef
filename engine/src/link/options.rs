//! What a line is like.

use std::io;

use serde::Deserialize;

use crate::plan::PlanError;

const LONGEST_US: f64 = 60e6;

/// What a line is like, and where it leads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOptions {
    /// Where it listens.
    #[serde(default = "loopback")]
    pub host: String,
    /// 0: any free port.
    #[serde(default)]
    pub port: u16,
    pub to_host: String,
    pub to_port: u16,
    #[serde(default)]
    pub to_server: WayOptions,
    #[serde(default)]
    pub to_client: WayOptions,
    /// Of the jitter.
    #[serde(default)]
    pub seed: u64,
}

/// One way.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WayOptions {
    pub delay_us: f64,
    /// By how much the delay varies.
    pub jitter_us: f64,
    pub distribution: Distribution,
    /// Of all connections together; 0: no limit.
    pub bits_per_s: f64,
}

/// How a delay varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Up to the jitter more or less.
    Uniform,
    /// With the jitter as its standard deviation, and cut off where nothing would be left of the delay, and as far
    /// on its other side.
    #[default]
    Normal,
    /// Later by the jitter on average, and never earlier than the delay.
    Exponential,
}

fn loopback() -> String {
    "127.0.0.1".into()
}

impl LinkOptions {
    /// Reads options from JSON; what is left out has its default. The error names the option that is wrong.
    pub fn from_json(text: &str) -> Result<LinkOptions, PlanError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            PlanError::new(if path == "." { "options".into() } else { path }, error.inner().to_string())
        })
    }

    /// Fails with `InvalidInput` naming an option that makes no sense.
    pub(super) fn check(&self) -> io::Result<()> {
        self.to_server.check("to_server")?;
        self.to_client.check("to_client")
    }
}

impl WayOptions {
    fn check(&self, name: &str) -> io::Result<()> {
        let refuse = |message: String| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        for (field, value) in [("delay_us", self.delay_us), ("jitter_us", self.jitter_us)] {
            if !(0.0..=LONGEST_US).contains(&value) {
                return refuse(format!("{name}.{field}: {value}: must be 0 to {LONGEST_US}"));
            }
        }
        if self.distribution != Distribution::Exponential && self.jitter_us > self.delay_us {
            return refuse(format!("{name}.jitter_us: {}: must be at most delay_us", self.jitter_us));
        }
        let bits = self.bits_per_s;
        if bits != 0.0 && !(1e3..=1e13).contains(&bits) {
            return refuse(format!("{name}.bits_per_s: {bits}: must be 0, or 1000 to 10000000000000"));
        }
        Ok(())
    }
}
