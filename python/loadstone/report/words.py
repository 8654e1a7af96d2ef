"""What the words of a report mean, one line each, for a reader who has read no statistics."""

TERMS: dict[str, str] = {
    "trial": "One execution of one condition: ramp-up, warm-up, measurement, drain.",
    "condition": "One setting of everything that is varied; a row of a table.",
    "block": "All conditions once, in random order and close in time. Only differences that return in several blocks "
    "can be told from chance.",
    "valid": "Every check passed, so the figure says something about the server.",
    "suspect": "A check was near its limit: read the figure with care.",
    "invalid": "A check failed: the figure says something about the measurement, not about the server.",
    "RPS, goodput": "Requests a second that were answered rightly. Failed, late and wrong replies do not count.",
    "response time": "From the moment a request was due until its reply was complete, with any wait for a connection.",
    "service time": "From the moment a request was sent until its reply was complete.",
    "pool wait": "The time a request queued for a free connection before it could be sent.",
    "P50, P95, P99, P99.9": "50, 95, 99 and 99.9 of 100 replies came at least this fast.",
    "generator": "The part that makes the load. When it is out of breath, it measures itself and not the server.",
    "steal": "CPU time that the host gave to other machines while this one wanted it.",
    "share of a core": "CPU seconds a second: 100 % is one core fully busy; several threads may use more.",
    "published": "The original study's figure, measured on its author's machine: context, never a target.",
}
