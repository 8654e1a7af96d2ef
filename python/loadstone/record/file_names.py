"""Names of the files in a run's folder, and its own."""

import re

RUN = re.compile(r"(?P<time>\d{8}T\d{6}Z)-.+?(?:-(?P<number>\d+))?")
"""A folder as it was made, and not renamed: `20261121T230227Z-documents`; of several in one second with a number."""

EXPERIMENT = "experiment.yaml"
ENVIRONMENT = "environment.json"
PLAN = "plan.json"
TRIALS = "trials.jsonl"
LOOKS = "looks.jsonl"
CRASHES = "crashes.jsonl"
INTERVALS = "intervals.jsonl"
SAMPLES = "samples.jsonl"
LATENCY = "latency"
"""A folder of interval logs, `<trial>.hlog`."""
ANALYSIS = "analysis.json"
LOGS = "logs"
"""A folder of what servers and subjects of ours wrote, `<name>.log`."""
KEPT = "kept.json"
"""Of an ad hoc run of which the newest alone are kept, see `newest_runs`."""
LEDGER = "ledger.jsonl"
"""What was made on servers that are not loadstone's own."""
