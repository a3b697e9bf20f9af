-- Ends with a line of figures that the suite reads. Run in the project's root.
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'figures: {"requests": %d, "bytes": %d, "duration_us": %d, "latency_us": ' ..
    '{"min": %d, "p25": %d, "p50": %d, "p75": %d, "p99": %d, "max": %d}, "errors": ' ..
    '{"connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}}\n',
    summary.requests, summary.bytes, summary.duration,
    latency.min, latency:percentile(25), latency:percentile(50),
    latency:percentile(75), latency:percentile(99), latency.max,
    errors.connect, errors.read, errors.write, errors.status, errors.timeout
  ))
end
