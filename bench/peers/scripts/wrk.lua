-- wrk's figures as one line of JSON; its times are in microseconds.
-- The text before it is wrk's own summary.
done = function(summary, latency, requests)
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout
  io.write(string.format(
    '{"requests": %d, "seconds": %.6f, "errors": %d, "p50_ms": %.3f, "p99_ms": %.3f, "p999_ms": %.3f}\n',
    summary.requests, summary.duration / 1e6, errors,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3))
end
