//! Which agent of several a plan names, and what several cannot do together.

use super::require;
use crate::plan::{Plan, PlanError, Share};

/// The most agents that share a plan.
const AGENTS_MAX: usize = 10_000;

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let Share { number, of } = plan.agent();
    require((1..=AGENTS_MAX).contains(&of), "share.of", of, "must be 1 to 10000")?;
    require(number < of, "share.number", number, "must be below share.of, the number of agents")?;
    for (field, is_there) in [("receivers", plan.receivers.is_some()), ("acknowledged", plan.acknowledged)] {
        if of > 1 && is_there {
            return Err(PlanError::new(field, "cannot be shared by several agents; use one agent"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(more: &str) -> Result<Plan, PlanError> {
        Plan::from_json(&format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 9}}, "pool": {{"connections": 9}},
            "operations": [{{"name": "set", "writes": "document",
            "commands": [{{"args": ["SET", "{{key}}", "{{document}}"]}}]}}]{more}}}"#
        ))
    }

    #[test]
    fn what_cannot_be_shared_is_refused() {
        for (more, said) in [
            (r#""share": {"number": 2, "of": 2}"#, "share.number: 2: must be below share.of, the number of agents"),
            (r#""share": {"number": 0, "of": 0}"#, "share.of: 0: must be 1 to 10000"),
            (
                r#""share": {"number": 0, "of": 2}, "acknowledged": true"#,
                "acknowledged: cannot be shared by several agents; use one agent",
            ),
        ] {
            assert_eq!(plan(&format!(", {more}")).unwrap_err().to_string(), said);
        }
        assert!(plan(r#", "share": {"number": 0, "of": 1}, "acknowledged": true"#).is_ok());
    }
}
