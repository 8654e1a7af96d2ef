"""A process that drives plans with the engine, one after the other: `python -m peers.driven`.

Plans come in on stdin, a line of JSON each. Out goes a line for each: the drive's record, the CPU time that the kernel
accounted to this process from its beginning to its end (every thread, Python's and the collector's too), and the most
memory that the process ever had.
"""

import json
import resource
import sys

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.experiment.plan.drive_plan import Plan


def main() -> None:
    """Until stdin is closed."""
    require_release_engine()
    print(json.dumps({"ready": _cpu_s()}), flush=True)
    for line in sys.stdin:
        plan = Plan.model_validate_json(line)
        before_s = _cpu_s()
        record = drive_alone(NativeDriver(), plan)
        cpu_s = _cpu_s() - before_s
        most_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = {"record": record.model_dump(mode="json"), "cpu_s": cpu_s, "memory_kib": most_kib}
        print(json.dumps(found), flush=True)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
