"""The smallest experiment: one factor, one table, one SET on a Redis of its own."""

TINY = """\
format: 1
name: tiny
question: Is it bounded?
factors:
  users: {levels: [1, 2, 3]}
tables:
  - {name: all, title: All, vary: {users: [1, 2, 3]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: "${users}"}
  pool: {connections: 4}
  phases: {measure_s: 1 s}
  keys: {count: 100}
  operations:
    - {name: set, commands: [{args: "SET {key} x", expect: ok}]}
"""


def sending(command: str) -> str:
    """The same with another command, whatever it replies."""
    return TINY.replace("SET {key} x", command).replace("expect: ok", "expect: any")
