"""What each check of a trial asks, and what it found."""

from collections.abc import Callable, Mapping, Sequence

from loadstone.text.figures import digits, up_to_percent
from loadstone.text.language import _, plural, translatable, translated

_LIMITS = {"cpu": translatable("cpu limit"), "memory": translatable("memory limit")}
_ERRORS = {"never_answered": translatable("never answered")}
"""Kinds of errors whose names are no plain text."""
_OTHER_PROGRAMS = translatable("other programs")
"""As the monitor of what runs beside a condition calls all of them together."""


def _share(share: float | None) -> str:
    return _("an unknown share") if share is None else f"{share:.0%}"


def _failed(percent: float, kinds: Mapping[str, int], unknown: Sequence[str] = ()) -> str:
    listed = _kinds_of_errors(kinds, unknown)
    return _("{percent} % of the operations failed: {listed}.", percent=digits(percent, 2), listed=listed)


def _kinds_of_errors(kinds: Mapping[str, int], unknown: Sequence[str]) -> str:
    listed = ", ".join(f"{number:,} {translated(_ERRORS.get(kind, kind))}" for kind, number in sorted(kinds.items()))
    if not unknown:
        return listed
    return _("the server does not know the command {names} ({listed})", names=", ".join(unknown), listed=listed)


def _unanswered(kinds: Mapping[str, int], unknown: Sequence[str] = ()) -> str:
    if not kinds:
        return _("No operation got a correct reply: none was sent.")
    return _("No operation got a correct reply: {listed}.", listed=_kinds_of_errors(kinds, unknown))


def _server_counter(differences: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name} {difference:+,}" for name, difference in differences.items())
    return _(
        "The server's count differs from the generator's ({listed}): another client sent "
        "commands, or replies were lost.",
        listed=listed,
    )


def _rows(server: str, grown: int, answered: int, operation: str, perhaps: int, too_few: bool) -> str:
    end = (
        _("too few: writes were lost, or one replaced another")
        if too_few
        else _("too many: other clients write there, too")
    )
    more = _(" (and {perhaps:,} that may have been stored)", perhaps=perhaps) if perhaps else ""
    return _(
        "{server} has {grown:,} more for {answered:,} correct replies of {operation}{more}, {end}.",
        server=server,
        grown=grown,
        answered=answered,
        operation=operation,
        more=more,
        end=end,
    )


def _setting(setting: str, server: str, observed: str | None, requested: str) -> str:
    if observed is None:
        return _(
            "{setting} of {server} is not reported instead of {requested}",
            setting=setting,
            server=server,
            requested=requested,
        )
    return _(
        "{setting} of {server} is {observed} instead of {requested}",
        setting=setting,
        server=server,
        observed=observed,
        requested=requested,
    )


def _gain(generator: float | None, server: float | None, bound: str, disk: float | None = None) -> str:
    if disk is not None:
        return _(
            "The generator used {generator} of its time, the server's side {server}, and for {disk} "
            "the server waited for its disk, once for all requests that had arrived: if more "
            "requests came together, {bound}.",
            generator=_share(generator),
            server=_share(server),
            disk=_share(disk),
            bound=bound,
        )
    return _(
        "The generator used {generator} of its time and the server's side {server}: with a generator "
        "that costs nothing, {bound}.",
        generator=_share(generator),
        server=_share(server),
        bound=bound,
    )


def _taken(programs: Mapping[str, float], stolen: float, bound: str, single: Mapping[str, float] | None = None) -> str:
    return _(
        "{others} used the CPUs of this condition: without them {bound}.",
        others=_others(programs, stolen, single or {}),
        bound=bound,
    )


def _taken_at_rate(programs: Mapping[str, float], stolen: float, single: Mapping[str, float] | None = None) -> str:
    return _(
        "{others} used the CPUs of this condition: the rate was kept, and replies may have waited for them.",
        others=_others(programs, stolen, single or {}),
    )


def _others(programs: Mapping[str, float], stolen: float, single: Mapping[str, float]) -> str:
    """`other programs 0.68 CPU (cargo 0.40, node 0.20)`: who took most first, and of the other programs by name."""
    names = ", ".join(f"{name} {cpu:.2f}" for name, cpu in single.items())
    found = [
        (
            cpu,
            _(
                "{name} {cpu:.2f} CPU{rest}",
                name=translated(name) if name == _OTHER_PROGRAMS else name,
                cpu=cpu,
                rest=f" ({names})" if names and name == _OTHER_PROGRAMS else "",
            ),
        )
        for name, cpu in programs.items()
    ]
    if stolen:
        found.append((stolen, _("other machines on this host {stolen:.2f}", stolen=stolen)))
    return ", ".join(program for _, program in sorted(found, reverse=True)) or _("Other programs")


def _not_loaded(percent: float, all: bool) -> str:
    if all:
        missed = _("{percent:.3g} % of the reads missed", percent=percent)
        return _("{missed} (nothing was loaded: add workload.load, or --load 'SET {{key}} {{value}}').", missed=missed)
    return _(
        "{percent:.1f} % of the reads missed, because not every key was stored before: add "
        "workload.load, or set workload.misses to the share that you expect.",
        percent=percent,
    )


def _key_count(change: float, low: int, high: int) -> str:
    planned = f"{low:,}" if low == high else _("{low:,} to {high:,}", low=low, high=high)
    return _(
        "The number of keys changed by {change:+,.0f} where {planned} were to be stored: other "
        "clients wrote or removed some.",
        change=change,
        planned=planned,
    )


def _limit(part: str, limit: str, status: str = "unknown", why: str = "") -> str:
    name = _("{limits} of {part}", limits=translated(_LIMITS[limit]), part=part)
    if status == "unavailable":
        return _("{name} (unavailable: {why})", name=name, why=why)
    return _("{name} (no limit is set)", name=name) if status == "unlimited" else name


def _samples(operations: int, highest: str | None) -> str:
    if highest:
        return _(
            "P99.9 needs 100,000 operations, {operations:,} were measured: {highest} is the highest quantile that "
            "they support.",
            operations=operations,
            highest=highest,
        )
    return _(
        "P99.9 needs 100,000 operations, {operations:,} were measured: they support no quantile.", operations=operations
    )


def _pool_wait(percent: float, connections: int, users: int | None) -> str:
    sizes = plural(connections, "{n} connection", "{n} connections")
    if users:
        sizes = _("{connections} for {users} users", connections=sizes, users=users)
    return _(
        "Pool-bound: {percent:.0f} % of the response time is waiting for a connection ({sizes}).",
        percent=percent,
        sizes=sizes,
    )


def _pool_wait_planned(percent: float, connections: int, users: int | None) -> str:
    return _("{pool_wait} The plan has it so: it is the condition.", pool_wait=_pool_wait(percent, connections, users))


def _no_port(connections: int, ports: str | None) -> str:
    known = f": {ports}" if ports else ""
    return _(
        "{connections:,} connections could not be made, because no local port was free{known}. "
        "Use fewer connections, keep them open, or widen net.ipv4.ip_local_port_range.",
        connections=connections,
        known=known,
    )


def _warm_up(first: float, last: float) -> str:
    if last > first:
        return _(
            "The rate rose from {first:,.0f} a second in the first third to {last:,.0f} in the last.",
            first=first,
            last=last,
        )
    return _(
        "The rate fell from {first:,.0f} a second in the first third to {last:,.0f} in the last.",
        first=first,
        last=last,
    )


def _restarted(parts: list[str]) -> str:
    return plural(
        len(parts),
        "{parts} was restarted during the trial: caches, connections and counters started from zero.",
        "{parts} were restarted during the trial: caches, connections and counters started from zero.",
        parts=", ".join(parts),
    )


def _slow_log(grown: int) -> str:
    more = _(" (it grew by {grown} commands)", grown=grown) if grown else ""
    return _("The server does not report what it writes to its slow log{more}.", more=more)


def _shared_cpus(idle: float | None) -> str:
    return _(
        "Generator and server share CPUs, and {share} of the CPU time was idle: each slows the other.",
        share=_share(idle),
    )


def _saved(fork_ms: float) -> str:
    stopped = _(" and the fork stopped it for {fork_ms:.1f} ms", fork_ms=fork_ms) if fork_ms else ""
    return _(
        "The server saved or rewrote its data during the trial: that takes CPU and disk{stopped}.", stopped=stopped
    )


def _link_delay(server: str, requested_ns: int, value_ns: float, low_ns: float, high_ns: float) -> str:
    added = f"{value_ns / 1e6:.3f} [{low_ns / 1e6:.3f}, {high_ns / 1e6:.3f}] ms"
    return _(
        "The line to {server} added {added} to a round trip where {requested_ns:g} ms were "
        "required: the figures are those of that delay.",
        server=server,
        added=added,
        requested_ns=requested_ns / 1e6,
    )


def _link_busy(server: str, busy: float, value_ns: float, high_ns: float) -> str:
    return _(
        "The line to {server} was saturated ({busy:.0%} busy or waiting for its CPU): by its own "
        "record it added {value_ns} ms (at most {high_ns}) to a round trip.",
        server=server,
        busy=busy,
        value_ns=digits(value_ns / 1e6),
        high_ns=digits(high_ns / 1e6),
    )


_STATES = {
    "stopped": translatable("was stopped (a signal or a debugger held its process)"),
    "busy": translatable(
        "was busy all the while with something else (a slow command, a fork, a collection of garbage)"
    ),
    "no_cpu": translatable("was ready to run and got no CPU (other programs had it)"),
    "idle": translatable("did no work (it waited: for its disk, a lock, or the network)"),
}


def _times(times: int) -> str:
    return "" if times == 1 else _(" ({times} times)", times=times)


def _stalls(
    part: str | None, state: str | None, total_s: float, times: int, longest_s: float, begin_s: float, waiting: int,
    timeouts: int,
) -> str:  # fmt: skip
    who = part or _("the server")
    why = f": {who} {translated(_STATES[state])}" if state else ""
    longest = _(", the longest {longest_s:.2f} s", longest_s=longest_s) if times > 1 else ""
    failed = _("; {timeouts:,} timed out", timeouts=timeouts) if timeouts else ""
    waited = _("a request waited") if waiting == 1 else _("{waiting:,} requests waited", waiting=waiting)
    return _(
        "Nothing was answered for {total_s:.2f} s{times}{longest} (from {begin_s:.1f} s on), "
        "while {waited}{failed}{why}.",
        total_s=total_s,
        times=_times(times),
        longest=longest,
        begin_s=begin_s,
        waited=waited,
        failed=failed,
        why=why,
    )


def _joined(joined: int) -> str:
    return plural(
        joined,
        "Loadstone did not keep up with {n:,} interval of its own and recorded it with the next one: no count and no "
        "latency is missing, only figures over time are coarser.",
        "Loadstone did not keep up with {n:,} intervals of its own and recorded each with the next one: no count and "
        "no latency is missing, only figures over time are coarser.",
    )


def _own_stalls(total_s: float, no_cpu_s: float, times: int, waiting: int, agents: Sequence[str] = ()) -> str:
    if no_cpu_s >= total_s / 2:
        why = _("other programs had the CPU")
    else:
        why = _("it was stopped (a signal, a debugger), or the whole machine was")
    late = _("; it is in the latencies of up to {waiting:,} requests", waiting=waiting) if waiting else ""
    figures = {"total": _("{n} s", n=f"{total_s:.2f}") + _times(times), "why": why, "late": late}
    if agents:
        return _(
            "Loadstone's own threads on {agents} did not run for {total}: {why}. This delay is not the server's{late}.",
            agents=", ".join(agents),
            **figures,
        )
    return _("Loadstone's own threads did not run for {total}: {why}. This delay is not the server's{late}.", **figures)


def _up_to(share: float) -> str:
    return _("the rate could be up to {up_to_percent:,} % higher", up_to_percent=up_to_percent(share))


def _clock_set(moved_s: float) -> str:
    if moved_s > 0:
        return _(
            "The wall clock was set forward by {seconds:,.1f} s during the trial, or the machine slept: no figure "
            "rests on that clock; times of day in logs do.",
            seconds=moved_s,
        )
    return _(
        "The wall clock was set back by {seconds:,.1f} s during the trial, or the machine slept: no figure rests on "
        "that clock; times of day in logs do.",
        seconds=abs(moved_s),
    )


def _beginning(agent: str, skew_ns: int, bound_ns: int) -> str:
    figures = {"agent": agent, "skew": digits(abs(skew_ns) / 1e6), "bound": digits(bound_ns / 1e6)}
    if skew_ns > 0:
        return _(
            "Agent {agent} began {skew} ms too late (known to {bound} ms): meanwhile not all made load.", **figures
        )
    return _("Agent {agent} began {skew} ms too early (known to {bound} ms): meanwhile not all made load.", **figures)


CHECKS: Mapping[str, str | Callable[..., str]] = {
    "check.of_agent": "Agent {agent}: {reason}",
    "check.beginning.apart": _beginning,
    "check.beginning.not_known": "When {agents:list} began is not known: their clocks could not be compared.",
    "check.failed_in": "{check} {verdict} in {trials} of {of} trials: {reason:clause}.",
    "check.no_counters": "The server's own counters could not be read.",
    "check.no_correct_reply": "No operation got a correct reply in the measure phase.",
    "check.no_bound": "no upper limit of the rate is known",
    "check.up_to": _up_to,
    "check.background.not_reported": "The server does not report whether it saved in the background.",
    "check.background.saved": _saved,
    "check.clock_set.moved": _clock_set,
    "check.clock.coarse": (
        "The clock moves in steps of {step_ns:latency}, and a latency of {latency_ns:latency} is known only to "
        "lie between {low_ns:latency} and {high_ns:latency}."
    ),
    "check.clock.no_latency": "There is no latency to compare the clock's step with.",
    "check.connection_leak.not_observed": "How many connections the servers had open could not be observed.",
    "check.connection_leak.rises": (
        "The connections at {server} rose all the time, from {first:.0f} in the first third to {last:.0f} in the "
        "last: a client opens them and does not close them."
    ),
    "check.connections.broken": "{lost:,} connections were lost and {failed:,} could not be made during the trial.",
    "check.connections.beyond": (
        "The driver had {connections} connections open, and its pool has {planned}: it drove another load than planned."
    ),
    "check.connections.missing": "In {intervals} of {of} intervals there were not {planned} connections.",
    "check.connections.no_port": _no_port,
    "check.connections.ports": (
        "this machine has {count:,} ({first} to {last}); afterwards {in_use:,} TCP sockets were open and "
        "{time_wait:,} in TIME_WAIT"
    ),
    "check.connections.too_short": "The measure phase was too short to count connections.",
    "check.conservation.astray": "{operations:,} operations are not accounted for: the generator counted wrongly.",
    "check.dropped_arrivals.dropped": (
        "{arrivals:,} arrivals were dropped: they have no latency, so every quantile looks better than it is."
    ),
    "check.errors.failed": _failed,
    "headline_unanswered": _unanswered,
    "check.errors.nothing_sent": "Nothing was sent in the measure phase.",
    "check.evicted_keys.evicted": (
        "The server evicted {keys:,.0f} keys because its memory was full: raise maxmemory, or store less."
    ),
    "check.evicted_keys.not_reported": "The server does not report whether it evicted keys.",
    "check.finished.early": "The trial ended early: {why:clause}.",
    "check.finished.never_driven": "The trial was never driven.",
    "check.finished.no_facts": "The trial cannot be judged: its record does not hold the facts that the checks need.",
    "check.finished.not_driven": "The trial could not be driven: {why:clause}.",
    "check.gain.bound": _gain,
    "check.gain.client": lambda library, generator: _(
        "{library} used {share} of its CPUs' time; it is part of what is measured, so the figure "
        "has no bound for a client that costs nothing.",
        library=library,
        share=_share(generator),
    ),
    "check.gain.not_observed": "Neither the generator's CPU nor the server's could be observed.",
    "check.hit_rate.misses": (
        "{percent:.1f} % of the reads missed although every key had been stored; a miss costs the server less."
    ),
    "check.hit_rate.designed": (
        "{percent:.1f} % of the reads missed, and the experiment expects {designed:g} % (workload.misses)."
    ),
    "check.hit_rate.not_loaded": _not_loaded,
    "check.hit_rate.no_read": "The server counted no read.",
    "check.hit_rate.not_reported": "The server does not report how many reads found a key.",
    "check.hit_rate.nothing_stored": (
        "Another condition on this server had nothing stored, and the server counts both: {percent:.1f} % of the "
        "reads found a key."
    ),
    "check.hit_rate.others": (
        "Other clients read from this server, too: it counted {reads:,.0f} reads, of which {ours:,} are loadstone's."
    ),
    "check.huge_pages.forks": (
        "The server forked {forks:.0f} times and the kernel gives huge pages to every process: each first write "
        "after a fork copies 2 MB; set disable-thp to yes."
    ),
    "check.huge_pages.not_observed": (
        "Whether the server's kernel gives huge pages to every process could not be observed."
    ),
    "check.key_count.differs": _key_count,
    "check.key_count.not_known": "What these commands do to the number of keys is not known beforehand.",
    "check.key_count.not_ours": (
        "The number of keys changed by {change:+,.0f}; loadstone did not start this server, so other clients may "
        "have done that."
    ),
    "check.key_count.not_reported": "The server does not report how many keys it holds.",
    "check.limits.missing": "Not in force: {limits:phrases}. The figure was measured without it.",
    "check.limits.not_reported": "It is not known whether this limit is in force: {limits:list}.",
    "check.limits.of_one": _limit,
    "check.link_busy.full": _link_busy,
    "check.link_busy.not_bounded": (
        "The line to {server} was saturated ({busy:.0%} busy or waiting for its CPU), and how much it delayed each "
        "request is not known: use a lower rate, or a machine with more CPUs."
    ),
    "check.link_busy.not_observed": "How busy the line to {servers:list} was could not be observed.",
    "check.link_delay.not_measured": (
        "What the line to {servers:list} added is not known: the pings before the trial, or the line, gave no answer."
    ),
    "check.link_delay.off": _link_delay,
    "check.little.begun_earlier": (
        "{ratio:.0%} of the users' time is accounted for; {earlier:.0%} went to operations that had begun before "
        "the measure phase, whose latency is in no figure: the rate stands, the latencies are too small. All users "
        "together waited for {mean_s:.3g} s on average, by Little's law."
    ),
    "check.little.idle_users": (
        "{ratio:.0%} of the users' time is accounted for: the generator did not keep its users going."
    ),
    "check.little.nothing_ended": "No operation ended in the measure phase.",
    "check.little.pipeline": "In a pipeline the earlier replies of a batch wait for the last one.",
    "check.little.users_stop": "Users stop after their own number of operations: they get fewer.",
    "check.little.stood_still": (
        "{ratio:.0%} of the users' time is accounted for: while it is not, the server or loadstone stood still."
    ),
    "check.little.went_on": (
        "{ratio:.0%} of the users' time is accounted for: operations went on after the measure phase, which was "
        "too short for them."
    ),
    "check.log_level.debug": "The server writes its log at the level 'debug': set loglevel to 'notice'.",
    "check.log_level.not_reported": "The server does not report its log level.",
    "check.monitor_clients.listening": (
        "{clients} client(s) had the server send them every command (MONITOR): end them."
    ),
    "check.monitor_clients.not_reported": "The server does not report who is connected to it.",
    "check.overcommit.not_observed": "The setting of the server's kernel could not be observed.",
    "check.overcommit.off": "vm.overcommit_memory is not 1: a server that fills half of the memory may fail to fork.",
    "check.payload.differs": "The server read {difference:+,.0f} bytes against the {sent:,} that were sent to it.",
    "check.payload.not_reported": "The server does not report how many bytes it read.",
    "check.payload.replicas": "What the server's replicas acknowledge is counted as read, too.",
    "check.placement.not_known": "loadstone did not place the server: where it runs is not known.",
    "check.placement.shared": _shared_cpus,
    "check.own_stalls.driver": _own_stalls,
    "check.own_stalls.joined": _joined,
    "check.own_time.ran": "Loadstone's own threads used the servers' CPUs for {percent:.2g} % of the time.",
    "check.own_time.waited": (
        "Loadstone's own threads used the servers' CPUs for {percent:.2g} % of the time; the server was ready to run "
        "and had no CPU for {waited:.2g} %, of which that explains at most {of:.2g}."
    ),
    "check.pool_wait.bound": _pool_wait,
    "check.pool_wait.not_reported": "{library} does not report how long an operation waits for its connection.",
    "check.pool_wait.planned": _pool_wait_planned,
    "check.replies.not_compared": "Replies were not compared with what was written.",
    "check.replies.not_read_back": "Nothing that was written was read back.",
    "check.replies.status_only": "Only the status of the replies was checked, not their content.",
    "check.replies.unrequested": (
        "{replies:,} replies came without a request: earlier ones may have answered another's request."
    ),
    "check.replies.wrong": "{replies:,} replies and {keys:,} of {read_back:,} keys read back were wrong.",
    "check.restarted.again": _restarted,
    "check.restarted.another": (
        "{parts:list}: another server answered after the drive than before it, because of a fail-over or of a "
        "balancer in between; give the address of one server."
    ),
    "check.restarted.not_reported": "No part reports how long it has been running.",
    "check.round_trip.empty": (
        "A reply from a server that does nothing takes {floor_us:.0f} µs of the P50 of {p50_us:.0f} µs: the P50 is "
        "what a client waits, but does not show the server's own time."
    ),
    "check.round_trip.no_p50": "There is no P50 to compare the empty round trip with.",
    "check.round_trip.not_measured": "The empty round trip was not measured.",
    "check.samples.few": _samples,
    "check.schedule_lag.cannot_keep": (
        "{library} cannot keep this rate: it sends half of the operations {lag_ns:latency} late or more, and the P50 "
        "is {p50_ns:latency}."
    ),
    "check.schedule_lag.library": (
        "{library} itself sends late: half of the operations {lag_ns:latency} or more after they were due, of a P50 of "
        "{p50_ns:latency}."
    ),
    "check.schedule_lag.own": (
        "The generator sent late and noticed replies late: of the {quantile}, {figure_ns:latency}, at most "
        "{own_ns:latency} is its own."
    ),
    "check.schedule_lag.no_p50": "There is no P50 to compare the generator's send delay with.",
    "check.schedule_lag.some": (
        "One operation in a hundred was sent {lag_ns:latency} late or more because of the generator, with a P50 of "
        "{p50_ns:latency}; service time is not affected."
    ),
    "check.schedule_sent.not_sent": (
        "{operations:,} of {of:,} operations were never sent: the server cannot keep up with this rate."
    ),
    "check.schedule_sent.nothing_due": "Nothing was due in the measure phase.",
    "check.server_counter.differs": _server_counter,
    "check.server_counter.restarted": (
        "The server was restarted, or another one answered: its counters began elsewhere."
    ),
    "check.server_cpu.full": "Server-bound: the main thread of {part} was saturated.",
    "check.server_cpu.not_observed": "The server's CPU could not be observed.",
    "check.stalls.server": _stalls,
    "check.settings.mismatched": "A setting is not as requested: {settings:list}.",
    "check.settings.not_reported": "{servers:list} did not report its settings.",
    "check.settings.of_one": _setting,
    "check.slow_log.not_reported": _slow_log,
    "check.slow_log.on": "Commands of {from_us} µs and more go to the slow log: set {setting} to 10000.",
    "check.deliveries.disconnected": (
        "{connections:,} of {of:,} receivers lost their connections ({why}); {missing:,} deliveries did not come."
    ),
    "check.deliveries.wrong": (
        "Of {expected:,} deliveries {missing:,} did not come; {repeated:,} came twice, and {unreadable:,} messages "
        "were others'."
    ),
    "check.stored_rows.astray": "{rows:sentences}",
    "check.stored_rows.keys": (
        "{server} has {rows:,} rows more, as answered, and {keys:,} keys more: counting keys is not counting rows."
    ),
    "check.stored_rows.not_counted": "What {servers:list} holds could not be counted.",
    "check.stored_rows.not_ours": (
        "{rows:sentences} Loadstone did not start this server, so other clients may have done that."
    ),
    "check.stored_rows.of_one": _rows,
    "check.subject_throttled.limit": (
        "The CPU limit of {subject} throttled its threads for {percent:.0f} % of the time: it is the bottleneck."
    ),
    "check.accept_queue.full": (
        "A server on this machine did not accept {connections:,.0f} connections because its queue was full; a client "
        "then tries again after 1, 3 or 7 s. Raise the server's backlog and net.core.somaxconn, or keep connections "
        "open while users pause."
    ),
    "check.swap.moved": "{megabytes:,.1f} MB of memory were moved to or from the disk.",
    "check.swap.not_reported": "This system does not report whether memory was swapped.",
    "check.taken.at_rate": _taken_at_rate,
    "check.taken.bound": _taken,
    "check.taken.not_observed": "The CPU time of other programs could not be observed.",
    "check.temporary_files.written": (
        "{server} wrote {megabytes_per_s:.2g} MB/s to temporary files: raise its memory for a statement (work_mem)."
    ),
    "check.warm_up.changed": _warm_up,
    "check.warm_up.late": "The rate settled only after {intervals} of {of} intervals, in the last half.",
    "check.warm_up.no_rate": "Nothing was answered, so there is no rate to look at.",
    "check.warm_up.too_short": (
        "{measured_s:.3g} s are too short to distinguish a warm-up from noise; all trials together may be enough."
    ),
    "check.warm_up.users_stop": "Users stop after their own number of operations: the rate falls.",
}

CHECK_QUESTIONS: Mapping[str, str] = {
    "check.stalls": "Did the server answer all the time?",
    "check.own_stalls": "Did loadstone itself run all the time?",
    "check.own_time": "For how long did loadstone's own threads, other than the generator's, use the servers' CPUs?",
    "check.clock_set": "For information: was the wall clock set meanwhile?",
    "check.finished": "Did the trial run to its planned end?",
    "check.restarted": "Did every part keep running from the beginning of the trial to its end?",
    "check.gain": "How much higher could the rate be at most with a generator that costs nothing?",
    "check.taken": "How much CPU time did other programs and other machines take at most?",
    "check.round_trip": "Is the typical latency the server's, or only that of the round trip?",
    "check.clock": "Is the clock fine enough for the latencies that are printed?",
    "check.beginning": "Did all agents of a fleet begin at once?",
    "check.schedule_sent": "Was everything sent that the schedule required?",
    "check.schedule_lag": "How much of the latencies may come from the generator, because it sent or noticed late?",
    "check.dropped_arrivals": "Was any arrival dropped because too many were waiting?",
    "check.errors": "Did operations fail?",
    "check.conservation": "Did every operation that began end exactly once?",
    "check.server_counter": "Did the server count the same commands as the generator?",
    "check.deliveries": "Did every receiver get every message exactly once?",
    "check.stored_rows": "Did the server store as many rows as were answered as stored?",
    "check.replies": "Were the replies correct, and was the data really stored?",
    "check.payload": "Did the server read the bytes that were sent, and no others?",
    "check.little": "Were the virtual users busy all the time, as they should be?",
    "check.pool_wait": "Did operations queue for a connection instead of for the server?",
    "check.link_delay": "Did the line to a server add the delay that was required?",
    "check.link_busy": "Did the line to a server keep up?",
    "check.connections": "Were all connections open all the time?",
    "check.temporary_files": "Did the statements fit into the memory that the store gives them?",
    "check.warm_up": "Had the rate settled before the measurement began?",
    "check.samples": "Were enough operations measured for the rarest latencies that are printed?",
    "check.hit_rate": "Did as many reads hit as the experiment expects?",
    "check.key_count": "Are there as many keys as the operations must have stored?",
    "check.settings": "Did the servers run with the requested settings?",
    "check.limits": "Were the requested CPU and memory limits in force?",
    "check.connection_leak": "Did the application open more and more connections without closing them?",
    "check.evicted_keys": "Did the server evict data?",
    "check.accept_queue": "Did servers accept all connections?",
    "check.swap": "Was memory moved to the disk and back?",
    "check.placement": "Did the generator and the server take CPU time from each other?",
    "check.background": "Did the server save its data while it was measured?",
    "check.monitor_clients": "Did a client watch every command with MONITOR?",
    "check.slow_log": "Did the server write ordinary commands to its slow log?",
    "check.log_level": "Did the server write a log while it worked?",
    "check.huge_pages": "Did forks cost more than they must, because of huge pages?",
    "check.overcommit": "For information: may the kernel refuse a fork to a large server?",
    "check.server_cpu": "For information: how busy was the server's main thread?",
    "check.subject_throttled": "For information: how long did its CPU limit throttle the application?",
}
