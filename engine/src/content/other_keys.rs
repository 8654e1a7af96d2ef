//! The other keys of an operation that names several: `{key2}`, `{key3}` and so on.

use super::keys::KeyPicker;
use super::rng::Rng;
use crate::plan::{Distribution, Plan, PlanError, Share};
use std::collections::HashSet;

/// Their stream of random numbers is apart from all others of the seed.
const STREAM: u64 = 0x6f74_6865_7220_6b65;
/// Draws of a key that is there already, after which the next free one is taken.
const TRIES: usize = 16;

/// Draws them: each by the distribution of the keys, each different from the first and from all before it. They follow
/// from the operation's number and its key alone, so all its requests have the same.
#[derive(Debug)]
pub struct OtherKeys {
    picker: KeyPicker,
    /// They follow the first one in order.
    in_order: bool,
    count: u64,
    seed: u64,
    drawn: Vec<u64>,
    taken: HashSet<u64>,
}

impl OtherKeys {
    pub fn new(plan: &Plan) -> Self {
        Self {
            picker: KeyPicker::new(&plan.keys, Share::WHOLE, Share::WHOLE),
            in_order: plan.keys.distribution == Distribution::Sequential,
            count: plan.keys.count,
            seed: plan.seed ^ STREAM,
            drawn: Vec::new(),
            taken: HashSet::new(),
        }
    }

    /// The `number` other keys of the operation number `seq`, whose first key is `key`. The plan has more keys than that.
    pub fn draw(&mut self, number: usize, key: u64, seq: u64) -> &[u64] {
        self.drawn.clear();
        if self.in_order {
            self.drawn.extend((1..=number as u64).map(|step| (key + step) % self.count));
            return &self.drawn;
        }
        let mut rng = Rng::new(self.seed, seq);
        self.taken.clear();
        self.taken.insert(key);
        for _ in 0..number {
            let mut other = self.picker.draw(&mut rng);
            for _ in 1..TRIES {
                if !self.taken.contains(&other) {
                    break;
                }
                other = self.picker.draw(&mut rng);
            }
            while !self.taken.insert(other) {
                other = (other + 1) % self.count;
            }
            self.drawn.push(other);
        }
        &self.drawn
    }
}

/// Checks what a plan must be whose operation at `place` names so many other keys.
pub fn check(plan: &Plan, number: usize, place: &str) -> Result<(), PlanError> {
    let last = number + 1;
    let problem = if number == 0 {
        return Ok(());
    } else if plan.keys.distribution == Distribution::ExactlyOnce {
        "keys are exactly_once, and each is another operation's; use another distribution".to_string()
    } else if plan.keys.count <= number as u64 {
        format!("there are only {} keys; set keys.count to at least {last}", plan.keys.count)
    } else {
        return Ok(());
    };
    Err(PlanError::new(place, format!("names {last} different keys, and {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(distribution: &str, count: u64) -> OtherKeys {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "get", "commands": [{{"args": ["PING"]}}]}}],
            "keys": {{"distribution": "{distribution}", "count": {count}}}}}"#
        );
        OtherKeys::new(&Plan::from_json(&text).unwrap())
    }

    #[test]
    fn they_differ_from_the_first_and_from_each_other() {
        for distribution in ["uniform", "zipf", "gaussian", "sequential"] {
            let mut others = keys(distribution, 12);
            for seq in 0..500 {
                let key = seq % 12;
                let mut all = others.draw(11, key, seq).to_vec();
                assert_eq!(all, others.draw(11, key, seq), "the same operation has the same keys");
                all.push(key);
                all.sort_unstable();
                assert_eq!(all, (0..12).collect::<Vec<_>>(), "{distribution}");
            }
        }
    }

    #[test]
    fn more_of_them_begin_with_the_same() {
        let mut others = keys("zipf", 1000);
        let few = others.draw(3, 5, 77).to_vec();
        assert_eq!(others.draw(20, 5, 77)[..3], few);
    }

    #[test]
    fn they_have_the_distribution_of_the_keys() {
        let share = |distribution| {
            let mut others = keys(distribution, 1000);
            let low = (0..5000u64).flat_map(|seq| others.draw(1, 999, seq).to_vec()).filter(|&other| other < 10);
            low.count() as f64 / 5000.0
        };
        assert!((0.005..0.015).contains(&share("uniform")));
        assert!((0.3..0.5).contains(&share("zipf")), "{}", share("zipf"));
    }

    #[test]
    fn those_in_order_follow_the_first() {
        assert_eq!(keys("sequential", 10).draw(3, 8, 5), [9, 0, 1]);
    }
}
