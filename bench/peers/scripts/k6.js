// One GET after the other by so many users, or at a rate; k6's figures as one line of JSON.
import http from "k6/http";

const users = Number(__ENV.USERS);
const rate = Number(__ENV.RATE);
const duration = `${__ENV.SECONDS}s`;
const closed = { executor: "constant-vus", vus: users, duration, gracefulStop: "5s" };
const open = {
  executor: "constant-arrival-rate",
  rate: rate,
  timeUnit: "1s",
  duration,
  preAllocatedVUs: users,
  gracefulStop: "5s",
};

export const options = {
  scenarios: { load: rate > 0 ? open : closed },
  summaryTrendStats: ["p(50)", "p(99)", "p(99.9)"],
};

export default function () {
  http.get(__ENV.TARGET);
}

export function handleSummary(data) {
  const requests = data.metrics.http_reqs.values;
  const times = data.metrics.http_req_duration.values;
  const failed = data.metrics.http_req_failed;
  const dropped = data.metrics.dropped_iterations;
  const figures = {
    requests: requests.count,
    rate_per_s: requests.rate,
    failed: failed ? failed.values.rate : 0,
    dropped: dropped ? dropped.values.count : 0,
    p50_ms: times["p(50)"],
    p99_ms: times["p(99)"],
    p999_ms: times["p(99.9)"],
  };
  return { stdout: `${JSON.stringify(figures)}\n` };
}
