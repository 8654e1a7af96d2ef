"""A server that answers after 1 ms and freezes 1 s in every 10 s, at 1,000 requests a second, open model.

    python -m bench.engine.stalls [--seconds 60] [--connections 100] [--rounds 3]

The truth is computed from the intended times: a request that is intended at t waits for a free connection,
is answered 1 ms after it was sent, or 1 ms after the freeze that it fell into, whichever is later. Printed are
P99 and P99.9 of loadstone and of the truth, and what a closed model with the same connections reports.
"""

import argparse
import sys

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.null_server import NullServerProcess
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.placement import place
from loadstone.run.self_test import FreezingServer, quantile
from loadstone.servers.server import DeployContext

EVERY_S = 10.0
SERVER = FreezingServer(delay_s=0.001, every_s=EVERY_S, freeze_s=1.0)
RATE_PER_S = 1000
LIMIT = 0.02


def plan(endpoint: Endpoint, model: Open | Closed, seconds: float, connections: int, cpus: tuple[int, ...]) -> Plan:
    return Plan(
        endpoints=(endpoint,),
        cpus=cpus[:1],
        model=model,
        pool=Pool(connections=connections),
        phases=Phases(warm_up_s=1, measure_s=seconds, drain_s=5),
        operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),)),),
        keys=Keys(prefix="loadstone:stalls:"),
        timeouts=Timeouts(request_ms=5000, gone_s=10),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="a multiple of 10")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    require_release_engine()
    placement = place()
    truth = SERVER.response_times_s(RATE_PER_S, options.seconds, options.connections)
    true_p99, true_p999 = quantile(truth, 0.99), quantile(truth, 0.999)
    null = NullServerProcess(SERVER.options)
    endpoint = null.start(DeployContext(cpus=placement.server_cpus))
    worst = 0.0
    try:
        print(f"{'':<10} {'P99':>10} {'P99.9':>10}   truth {true_p99 * 1e3:.1f} and {true_p999 * 1e3:.1f} ms")
        for number in range(options.rounds + 1):
            last = number == options.rounds
            model = Closed(users=options.connections) if last else Open(rate_per_s=RATE_PER_S)
            seconds = EVERY_S * 2 if last else options.seconds
            todo = plan(endpoint, model, seconds, options.connections, placement.generator_cpus)
            observed = drive_alone(NativeDriver(), todo).operations["get"].response_ns
            label = "closed" if last else f"open {number + 1}"
            print(f"{label:<10} {observed.p99 / 1e6:>7.1f} ms {observed.p999 / 1e6:>7.1f} ms", flush=True)
            if not last:
                worst = max(worst, abs(observed.p99 / 1e9 / true_p99 - 1), abs(observed.p999 / 1e9 / true_p999 - 1))
    finally:
        null.stop()
    print(f"worst deviation of the open model from the truth: {worst:.2%} (limit {LIMIT:.0%})")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()
