"""loadstone's monitors beside `vmstat 1` and `pidstat 1`, over the same seconds of one load.

    python -m bench.engine.monitors [--seconds 20]

A Redis of our own is under load; every figure is a mean over those seconds. `vmstat` counts itself in `r` from
procps 4 on.
"""

import argparse
import statistics
import subprocess
import time

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.placement import place
from loadstone.measure.sampler import Sampler
from loadstone.monitors.host.monitor import HostMonitor
from loadstone.monitors.host.processes import ProcessMonitor
from loadstone.monitors.metrics.host import HOST, OF_HOST
from loadstone.monitors.monitor import Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

VMSTAT = [metric.name for metric in OF_HOST if metric.part == HOST]
"""The columns of `vmstat`, in its order."""


def main() -> None:
    """Drive, watch three times over, and print a line a figure."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=20)
    seconds = arguments.parse_args().seconds
    placed = place()
    server = EmbeddedSettings().server("redis")
    endpoint = server.start(DeployContext(cpus=placed.server_cpus))
    try:
        pid = server.pids["redis"]
        plan = Plan(
            endpoints=(endpoint,),
            model=Closed(users=16),
            pool=Pool(connections=16),
            phases=Phases(warm_up_s=1.0, measure_s=seconds + 3.0),
            operations=(
                Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
            ),
            keys=Keys(count=1000),
            cpus=placed.generator_cpus,
        )
        samples, vmstat, pidstat = watched(plan, pid, seconds)
    finally:
        server.stop()
    print(f"{'figure':<14}{'loadstone':>14}{'theirs':>14}")
    for column, theirs in vmstat.items():
        print(f"vmstat {column:<7}{mean(samples, 'host', column):>14,.1f}{theirs:>14,.1f}")
    print(f"pidstat %CPU  {100 * mean(samples, 'redis', 'cpu_share'):>14,.1f}{pidstat['%CPU']:>14,.1f}")
    for ours, theirs in (("voluntary_per_s", "cswch/s"), ("involuntary_per_s", "nvcswch/s")):
        print(f"pidstat {theirs:<10}{mean(samples, 'redis', ours):>10,.1f}{pidstat[theirs]:>14,.1f}")


def watched(plan: Plan, pid: int, seconds: int) -> tuple[list[Sample], dict[str, float], dict[str, float]]:
    """Our samples and their means, all of the seconds after the load's first interval."""
    samples: list[Sample] = []
    watch = MonitorTargets(pids={"redis": pid})
    sampler = Sampler([*HostMonitor.watching(watch), *ProcessMonitor.watching(watch)], samples.extend)
    beside: list[subprocess.Popen[str]] = []
    began_s: list[float] = []
    of_vmstat = ["vmstat", "1", str(seconds + 1)]
    of_pidstat = ["pidstat", "-u", "-w", "-p", str(pid), "1", str(seconds)]

    def begin(_: object) -> None:
        if not beside:
            began_s.append(time.time())
            for command in (of_vmstat, of_pidstat):
                beside.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"LC_ALL": "C"}))

    drive_alone(NativeDriver(), plan, begin, sampler.rest)
    sampler.stop()
    samples = [sample for sample in samples if sample.unix_s < began_s[0] + seconds + 0.5]
    vmstat, pidstat = (process.communicate()[0] for process in beside)
    return samples, vmstat_means(vmstat), pidstat_means(pidstat)


def vmstat_means(text: str) -> dict[str, float]:
    """Means of vmstat's lines but the first, which is of the time since the machine started."""
    rows = [line.split() for line in text.splitlines() if line.split() and line.split()[0].isdigit()][1:]
    means = {name: statistics.fmean(float(row[at]) for row in rows) for at, name in enumerate(VMSTAT)}
    return {name: value for name, value in means.items() if name not in ("swpd", "si", "so")}


def pidstat_means(text: str) -> dict[str, float]:
    """pidstat's own averages."""
    found: dict[str, float] = {}
    header: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if "UID" in words:
            header = words[words.index("UID") :]
        elif words[:1] == ["Average:"]:
            found |= {name: float(word) for name, word in zip(header, words[1:], strict=False) if is_number(word)}
    return found


def is_number(word: str) -> bool:
    """Whether a word is a decimal number."""
    return word.replace(".", "", 1).isdigit()


def mean(samples: list[Sample], part: str, metric: str) -> float:
    """The mean of a metric over all samples."""
    return statistics.fmean(sample.value for sample in samples if (sample.part, sample.metric) == (part, metric))


if __name__ == "__main__":
    main()
