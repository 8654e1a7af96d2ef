"""What the terms of a report mean, for a reader who has read no statistics."""

from collections.abc import Mapping

_COMPARING = {
    "comparison": "Two conditions that differ in one thing only, measured again and again in turn.",
    "metric": "The figure that is compared. It was chosen before anything was measured.",
    "ratio": "How much more (+) or less (-) of the metric B has than A, in per cent of A: from 208 to 174 is -17 %. "
    "A difference of more than a half is written as a factor: `14.7 times`, `0.26 times`.",
    "typical difference": "The difference that the blocks have in common: the middle one of all averages of two "
    "blocks (Hodges and Lehmann's estimate). A few odd blocks hardly move it.",
    "interval": "The range in brackets. About 95 of 100 contain the true difference; where the machine drifts more "
    "slowly than the run is long, 79 in simulations. If it contains 0, there may be no difference; `>0` and `<0` "
    "exclude 0.",
    "level": "How sure an interval is. Where a run looks several times or compares several pairs, each interval is "
    "wider, chosen so that all of them together mislead at most 5 times in 100.",
    "margin": "The difference that does not matter, by the experiment's own choice, made beforehand.",
    "look": "A moment at which the run judges what it has and stops if that is enough, after 8, 12, 18, 27 or 40 "
    "blocks, or after 12, 20, 32, 48, 72, 108, 160, 240 or 360 rounds.",
    "round": "Each condition once for a slice of 100 ms, in random order, while all of them are up. Both slices of a "
    "pair meet the machine in the same state, so that their ratio is free of its slow noise.",
    "stall": "A block in which one side was worse than usual by more than a fifth. A few of them hardly change the "
    "typical difference: they are counted apart.",
    "minimum detectable effect": "A true difference of this size would have been detected 8 times in "
    "10 with so many blocks. Smaller ones can easily hide in the noise.",
    "total work": "All blocks added up. Every stall counts here, as it does not in the typical difference.",
    "noise floor": "The smallest difference that the whole time budget could show on this machine.",
    "repeated block": "A block that was measured again because something outside disturbed it; never because of its "
    "result. Earlier versions did so; now what others took widens the bound of a figure.",
    "exploratory": "In addition to the question: many figures, of which some will differ by chance. Good for the next "
    "question, not for an answer.",
}

_VERDICTS = {
    "FASTER": "The whole interval lies on one side of 0: the difference is real. `B FASTER` and `B SLOWER` are in per "
    "cent of A, as the ratio is; beyond a half the faster one is named, and how many times as fast it is.",
    "materially": "Even the nearer end of the interval is beyond the margin: the difference matters.",
    "EQUIVALENT": "The whole interval lies within the margin, and neither side stalls more: there is no difference "
    "that matters.",
    "real but negligible": "The difference is real and too small to matter.",
    "MIXED": "Typically faster, and yet less work in total: it stalls now and then.",
    "UNDECIDED": "The interval is too wide to say either. More blocks may decide.",
    "NOT DECIDABLE HERE": "It would take more than four times the budget: this machine is too noisy for this question.",
    "INVALID": "A check failed, so the figures say nothing about the two conditions. No ratio is printed.",
}

_MEASURING = {
    "condition": "One setting of everything that is varied; a row of a table.",
    "trial": "One execution of one condition: ramp-up, warm-up, measurement, drain.",
    "block": "The conditions of a comparison once each, in random order and close in time. Only a difference that "
    "returns block after block can be distinguished from chance.",
    "order": "The trial's place in its block, drawn at random.",
    "attempt": "1, or more where the trial was measured again because the run was interrupted in its block.",
    "budget": "How long the run may last.",
    "generator": "The part that makes the load. When it is saturated, it measures itself and not the server.",
    "server": "The Redis or the database that is under load.",
    "subject": "The application under test, between the generator and the server.",
    "CPU per request": "CPU time, user and system, that each part used for one correct reply: its service demand. A "
    "faster generator does not change it, as it does a rate; the load does: busy servers answer in batches.",
    "bottleneck": "The part that was saturated, and for how much of the time (pool, lock, delay of a line: of the "
    "response time). 'Round trips': nothing was saturated, and users waited for replies. The list of trials has more.",
    "scaled": "Users and rows are fewer than the original's by the same factor, to fit a small machine. "
    "Compare conditions with each other, not with the original.",
    "published": "The original study's figure, measured on its author's machine: context, never a target.",
}

_FIGURES = {
    "RPS, goodput": "Requests a second that were answered correctly. Failed, late and wrong replies do not count.",
    "TPS": "Operations that ended, a second: correct, failed and wrong ones (throughput).",
    "peak TPS": "TPS of the best whole second.",
    "MTT": "Mean test time: the mean response time of correct replies, with any wait for a connection.",
    "executed tests": "Operations that ended in the measure phase, over all trials of the condition.",
    "vUsers": "Virtual users: each waits for its reply before it sends the next request.",
    "response time": "From the moment a request was due until its reply was complete, with any wait for a connection.",
    "service time": "From the moment a request was sent until its reply was complete.",
    "pool wait": "The time a request queued for a free connection before it could be sent.",
    "P50, P95, P99, P99.9": "50, 95, 99 and 99.9 of 100 replies came at least this fast.",
    "share of a core": "CPU seconds a second: 100 % is one core fully busy; several threads may use more.",
}

_APPLICATION = {
    "store": "The server behind the application that keeps its data: a Redis or a database.",
    "replica": "One of several processes of the application. The load is spread evenly over them, by connection.",
    "millicores": "CPU as Kubernetes counts it: 1000m is one core fully busy, 380m is 38 % of one.",
    "throttled": "Stopped by its CPU limit: ready to run, and not let until the next tenth of a second.",
    "stored": "Rows or entities that were stored, counted on the server. A repository of Redis hashes writes several "
    "keys for each, so keys are another count.",
    "acknowledged": "Answered as stored. Durable is only what is still there after the server was killed.",
    "AOF": "Redis's append-only file: every write is appended; the mode says when it is forced to the disk (fsync): "
    "never, each second, or before each reply.",
    "buffer pool": "MariaDB's own cache of pages. A hit needs no read from the disk.",
    "heap, GC pause": "Memory of the JVM's objects, and the time in which its garbage collector stops every thread.",
    "pool, active and pending": "Connections of the application's own pool in use, and threads that wait for one.",
}

_MACHINE = {
    "r, b": "Threads that run or wait for a CPU, and those that wait for the disk. More r than CPUs is a queue.",
    "swpd, free, buff, cache": "Memory that is swapped out, free, and used for buffers and files.",
    "si, so": "Memory swapped in and out, a second. Anything but 0 makes all figures slow.",
    "bi, bo": "Read from and written to disks, a second.",
    "in, cs": "Interrupts and context switches, a second.",
    "us, sy, id, wa, st": "Per cent of the time of all CPUs: in programs, in the kernel, idle, idle while a disk was "
    "waited for, and taken by other virtual machines.",
}

_CHECKING = {
    "check": "A rule that a trial or a comparison must pass before its figures can be trusted.",
    "valid": "Every check passed, so the figure says something about the server.",
    "suspect": "A check went beyond its first limit, but not beyond the one that makes a trial invalid, or the few "
    "trials of a row do not agree: read the figure with care.",
    "invalid": "A check failed: the figure says something about the measurement, not about the server.",
    "unknown": "Could not be observed, for instance without access to the server's host. It never counts as valid.",
    "bound": "How much higher the figure could be at most: with a generator that costs nothing, and had others taken "
    "nothing. `97,200 (up to +4 %)` lies between 97,200 and 101,088.",
    "gain": "How much more a generator that costs nothing would bring at most: the server cannot do more than its busy "
    "share leaves, nor a cycle become shorter than without the generator.",
    "taken": "How much more there would be at most had other programs and other machines on this host (steal) not used "
    "the condition's CPUs.",
}

TERMS: Mapping[str, Mapping[str, str]] = {
    "comparing": _COMPARING,
    "verdicts": _VERDICTS,
    "measuring": _MEASURING,
    "figures": _FIGURES,
    "application": _APPLICATION,
    "machine": _MACHINE,
    "checks": _CHECKING,
}
"""The terms of each group, and what they mean."""

GLOSSARY: Mapping[str, str] = {
    "glossary_comparing": "Comparing",
    "glossary_verdicts": "Verdicts",
    "glossary_measuring": "Measuring",
    "glossary_figures": "Figures",
    "glossary_application": "The application and its stores",
    "glossary_machine": "The machine, as vmstat shows it",
    "glossary_checks": "Checks",
    "glossary_brackets": (
        "Figures in [ ] are a range: about 95 of 100 such ranges contain the true difference, fewer where the machine "
        "drifts more slowly than the run is long; if it contains 0, there may be no difference (>0 and <0 exclude 0)."
    ),
}
