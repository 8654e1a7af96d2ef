//! Quantiles and tails of three distributions, which the judge needs: libraries that have them for Python are ten times
//! the size of everything else that is installed.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::function::beta::{beta_reg, ln_beta};

/// By halving; a double has 52 bits.
const STEPS: usize = 200;

fn require(holds: bool, what: &str) -> PyResult<()> {
    if holds { Ok(()) } else { Err(PyValueError::new_err(what.to_string())) }
}

/// Where the regularized incomplete beta function reaches `p`: Newton's method, halving where a step leaves the bracket.
fn beta_inverse(a: f64, b: f64, p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p.clamp(0.0, 1.0);
    }
    let (mut low, mut high, mut x) = (0.0, 1.0, a / (a + b));
    let scale = ln_beta(a, b);
    for _ in 0..STEPS {
        let off = beta_reg(a, b, x) - p;
        if off > 0.0 {
            high = x
        } else {
            low = x
        }
        let density = ((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p() - scale).exp();
        let step = x - off / density;
        let next = if step > low && step < high { step } else { (low + high) / 2.0 };
        if (next - x).abs() <= f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

/// The quantile of the beta distribution. Raises ValueError unless `a` and `b` are above 0 and `p` is a probability.
#[pyfunction]
pub fn beta_quantile(a: f64, b: f64, p: f64) -> PyResult<f64> {
    require(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite(), "a and b must be above 0")?;
    require((0.0..=1.0).contains(&p), "p must be from 0 to 1")?;
    Ok(beta_inverse(a, b, p))
}

/// The quantile of Student's t, by the beta distribution. Raises ValueError unless `freedom` is above 0 and `p` within 0
/// and 1.
#[pyfunction]
pub fn student_t_quantile(freedom: f64, p: f64) -> PyResult<f64> {
    require(freedom > 0.0 && freedom.is_finite(), "freedom must be above 0")?;
    require(p > 0.0 && p < 1.0, "p must be between 0 and 1")?;
    let tail = p.min(1.0 - p);
    // P(|T| > t) = I(freedom / (freedom + t²); freedom / 2, 1/2), of which the smaller part is solved for.
    let both = 2.0 * tail;
    let t = if both < 0.5 {
        let x = beta_inverse(freedom / 2.0, 0.5, both);
        (freedom * (1.0 - x) / x).sqrt()
    } else {
        let x = beta_inverse(0.5, freedom / 2.0, 1.0 - both);
        (freedom * x / (1.0 - x)).sqrt()
    };
    Ok(if p < 0.5 { -t } else { t })
}

/// The probability that an F-distributed figure is above `x`. Raises ValueError unless both degrees of freedom are above
/// 0 and `x` is not below.
#[pyfunction]
pub fn f_survival(x: f64, above: f64, below: f64) -> PyResult<f64> {
    require(above > 0.0 && below > 0.0 && above.is_finite() && below.is_finite(), "freedoms must be above 0")?;
    require(x >= 0.0, "x must not be below 0")?;
    let share = if x.is_infinite() { 0.0 } else { below / (below + above * x) };
    Ok(if share <= 0.0 { 0.0 } else { beta_reg(below / 2.0, above / 2.0, share) })
}
