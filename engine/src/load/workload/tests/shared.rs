//! Several agents that share a plan: together they do what one does that has all their threads.

use super::*;
use crate::load::arrivals::Arrivals;
use crate::load::users::Users;
use crate::plan::Model;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Requests that are compared of each thread.
const REQUESTS: usize = 30;

/// What follows from the plan alone; versions follow from who wrote before, too.
fn operations() -> Value {
    json!([
        {"name": "get", "weight": 3, "commands": [{"args": ["GET", "{key}"], "expect": "value"}]},
        {"name": "mget", "commands": [{"args": ["MGET", "{key}", "{key2}", "{key3}"]}]},
        {"name": "add", "weight": 2, "commands": [
            {"args": ["LPUSH", "{key}", "{seq} {random 4 lowercase}"]}, {"args": ["INCRBY", "{key}", "{uniform 1..900}"]},
        ]},
    ])
}

fn of_http() -> Value {
    json!([{"name": "post", "requests": [{"method": "POST", "path": "/{number}/{seq}", "body": "{value} {uniform 1..900}"}]}])
}

#[derive(Debug, Clone)]
struct Case {
    plan: Value,
    agents: usize,
    threads: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let distribution = prop::sample::select(vec!["uniform", "sequential", "zipf", "gaussian"]);
    let arrivals = prop::sample::select(vec!["constant", "poisson"]);
    let sizes = (1usize..8, 1usize..5, 0u32..40, 3u64..2000);
    let model = (1.0f64..50_000.0, prop::bool::ANY, 0.0f64..2.0);
    (distribution, arrivals, sizes, model, 0u64..1 << 40, prop::bool::ANY).prop_map(
        |(distribution, arrivals, (agents, threads, more, keys), (rate, scheduled, ramp_up_s), seed, is_http)| {
            let least = (agents * threads) as u32;
            let step = json!({"rate_per_s": rate / 2.0, "duration_s": 0.01});
            let schedule = if scheduled { json!([step]) } else { json!([]) };
            let plan = json!({
                "endpoints": [{}, {"port": 7}], "seed": seed, "pool": {"connections": least + more},
                "model": {"kind": "open", "rate_per_s": rate, "arrivals": arrivals, "schedule": schedule},
                "phases": {"ramp_up_s": ramp_up_s, "warm_up_s": 0.01},
                "keys": {"count": keys, "distribution": distribution},
                "protocol": if is_http { "http1" } else { "resp2" },
                "operations": if is_http { of_http() } else { operations() },
            });
            Case { plan, agents, threads }
        },
    )
}

/// The plan of one agent.
fn agent(case: &Case, number: usize) -> Plan {
    let mut plan = case.plan.clone();
    plan["threads"] = json!(case.threads);
    plan["share"] = json!({"number": number, "of": case.agents});
    Plan::from_json(&plan.to_string()).unwrap()
}

/// The same load by one agent that has all threads.
fn whole(case: &Case) -> Plan {
    let mut plan = case.plan.clone();
    plan["threads"] = json!(case.agents * case.threads);
    Plan::from_json(&plan.to_string()).unwrap()
}

/// A request: when it is intended, its number, and all of its bytes.
type Sent = (u64, u64, Vec<u8>);

/// The first requests of one thread.
fn sent(plan: &Plan, shared: &Arc<Shared>, thread: usize) -> Vec<Sent> {
    let Model::Open(open) = &plan.model else { unreachable!() };
    let mut arrivals = Arrivals::new(open, &plan.phases, plan.seed, plan.share_of_thread(thread));
    let mut workload = Workload::new(plan, shared.clone(), thread).unwrap();
    let one = |_| {
        let (intended_ns, mut request) = (arrivals.next_ns(), workload.begin().unwrap());
        arrivals.advance();
        let mut bytes = Vec::new();
        workload.encode(&request, 0, b"", &mut bytes);
        while workload.go_on(&mut request) {
            workload.encode(&request, 0, b"", &mut bytes);
        }
        (intended_ns, request.seq, bytes)
    };
    (0..REQUESTS).map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn agents_together_send_what_one_sends_request_for_request(case in case()) {
        let one = whole(&case);
        let shared = Arc::new(Shared::new(&one).unwrap());
        let of_one: Vec<Vec<Sent>> = (0..one.threads).map(|thread| sent(&one, &shared, thread)).collect();
        let of_agents = (0..case.agents).flat_map(|number| {
            let own = agent(&case, number);
            let shared = Arc::new(Shared::new(&own).unwrap());
            (0..own.threads).map(|thread| sent(&own, &shared, thread)).collect::<Vec<_>>()
        });
        prop_assert_eq!(of_agents.collect::<Vec<_>>(), of_one);
    }

    #[test]
    fn connections_add_up_to_the_pool(case in case()) {
        let own = |number| {
            let plan = agent(&case, number);
            (0..plan.threads).map(|thread| plan.own_connections(plan.share_of_thread(thread))).sum::<usize>()
        };
        let all: usize = (0..case.agents).map(own).sum();
        prop_assert_eq!(all as u64, case.plan["pool"]["connections"].as_u64().unwrap());
    }

    #[test]
    fn users_their_starts_and_their_operations_add_up(
        (users, more) in (1u32..300, 0u32..300), agents in 1usize..8, threads in 1usize..4, steps in prop::bool::ANY,
    ) {
        let ramp_up = json!({"initial_users": 2, "step_users": 3, "step_every_s": 0.5});
        let plan = json!({
            "model": {"kind": "closed", "users": users, "operations_per_user": 5, "operations_more": more % users,
                "ramp_up": if steps { ramp_up } else { Value::Null }},
            "endpoints": [{}], "pool": {"connections": 1}, "phases": {"ramp_up_s": 1.0}, "operations": operations(),
        });
        let case = Case { plan, agents, threads };
        let begun = |plan: Plan| {
            let Model::Closed(closed) = &plan.model else { unreachable!() };
            let mut begun: BTreeMap<(u64, usize), usize> = BTreeMap::new();
            for thread in 0..plan.threads {
                let mut users = Users::new(closed, &plan.phases, plan.seed, plan.share_of_thread(thread));
                while let Some((user, ready_ns)) = users.wake(u64::MAX) {
                    *begun.entry((ready_ns, users.take(user, 100))).or_default() += 1;
                }
            }
            begun
        };
        let mut all: BTreeMap<(u64, usize), usize> = BTreeMap::new();
        for (key, number) in (0..agents).flat_map(|number| begun(agent(&case, number))) {
            *all.entry(key).or_default() += number;
        }
        prop_assert_eq!(all, begun(whole(&case)));
    }
}

#[test]
fn each_key_is_taken_once_by_all_agents_together() {
    let plan = json!({
        "endpoints": [{}], "model": {"kind": "closed", "users": 12}, "pool": {"connections": 12},
        "operations": [operations()[0]], "keys": {"count": 101, "distribution": "exactly_once"},
    });
    let case = Case { plan, agents: 4, threads: 3 };
    let own = |number| {
        let plan = agent(&case, number);
        let shared = Arc::new(Shared::new(&plan).unwrap());
        let taken = |thread| {
            let mut workload = Workload::new(&plan, shared.clone(), thread).unwrap();
            std::iter::from_fn(move || workload.begin()).map(|request| request.key).collect::<Vec<_>>()
        };
        (0..plan.threads).flat_map(taken).collect::<Vec<_>>()
    };
    let parts: Vec<Vec<u64>> = (0..4).map(own).collect();
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [26, 25, 25, 25]);
    let mut all = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (0..101).collect::<Vec<_>>());
}

/// Two agents that write the one key that there is.
fn two(read_back: &str) -> [Workload; 2] {
    let plan = json!({
        "endpoints": [{}], "model": {"kind": "closed", "users": 2}, "pool": {"connections": 2}, "keys": {"count": 1},
        "operations": [
            {"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
             "read_back": {"args": ["GET", "{key}"], "expect": read_back}},
            {"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "document"}]},
        ],
    });
    let case = Case { plan, agents: 2, threads: 1 };
    [0, 1].map(|number| workload(&agent(&case, number)))
}

#[test]
fn what_another_agent_wrote_is_right_and_what_nobody_did_is_not() {
    let [mut one, mut other] = two("document");
    set(&mut one);
    (0..4).for_each(|_| drop(set(&mut other)));
    let newer = set(&mut other);
    let get = begin(&mut one, "get");
    assert_eq!(judge(&mut one, &get, &bulk(&newer)), Ok(()), "version 5, of which this agent knows one");
    let get = begin(&mut one, "get");
    let mixed = newer.replace("\"version\":\"0000000005\"", "\"version\":\"0000000004\"");
    assert_eq!(judge(&mut one, &get, &bulk(&mixed)), Err("wrong_reply"), "the text is that of version 5");
    let none = newer.replace("\"version\":\"0000000005\"", "\"version\":\"0000000000\"");
    assert_eq!(judge(&mut one, &get, &bulk(&none)), Err("wrong_reply"), "no version is 0");
    assert_eq!(judge(&mut one, &get, b"$-1\r\n"), Err("missing"), "it was written");
    assert!(!one.is_stale(&get, &bulk(&newer)), "which versions are older is not known");
}

#[test]
fn a_key_is_read_back_whoever_wrote_it_last() {
    let [mut one, mut other] = two("document");
    let older = set(&mut one);
    set(&mut one);
    (0..6).for_each(|_| drop(set(&mut other)));
    let newer = set(&mut other);
    let read_back = one.next_read_back().unwrap();
    for (reply, verdict) in [
        (bulk(&newer), Ok(())),
        (bulk(&older), Ok(())),
        (bulk(&newer.replace("\"type\":\"document\"", "\"type\":\"documeNt\"")), Err("wrong_reply")),
        (b"$-1\r\n".to_vec(), Err("missing")),
    ] {
        assert_eq!(judge(&mut one, &read_back, &reply), verdict);
    }
    let [mut one, _] = two("value");
    set(&mut one);
    let read_back = one.next_read_back().unwrap();
    assert_eq!(judge(&mut one, &read_back, b"$-1\r\n"), Err("missing"));
    assert_eq!(judge(&mut one, &read_back, &bulk("short")), Err("wrong_reply"));
}
