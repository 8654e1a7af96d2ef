"""Each agent of a fleet in the display: its rate and share, and whether it is there."""

from loadstone.drivers.outcome import AgentInterval, AgentState
from loadstone.report.live.agents import TOLD_MAX, TROUBLED_MAX, AgentsNow


def second(name: str, ok: int = 1000, late_s: float | None = 0.01, errors: int = 0) -> AgentInterval:
    return AgentInterval(
        name=name, duration_s=2.0, offered=ok, ok=ok, errors=errors, p99_ns=1_200_000, cpu_s=0.3, late_s=late_s
    )


def now(names: list[str], **seconds: AgentInterval) -> AgentsNow:
    agents = AgentsNow()
    agents.states([AgentState(name=name, state="ready") for name in names])
    agents.add("set", list(seconds.values()) or [second(name) for name in names])
    return agents


def shown(agents: AgentsNow, width: int = 100) -> list[str]:
    return [line.plain for line in agents.lines("set", width)]


def test_few_agents_have_a_line_each() -> None:
    agents = now(["gen-1", "gen-2"], one=second("gen-1", 3000), two=second("gen-2", 1000, late_s=2.3, errors=4))
    assert shown(agents) == [
        "gen-1           1,500 TPS   75 %  P99 1.20 ms  CPU 15 %",
        "gen-2             500 TPS   25 %  P99 1.20 ms  CPU 15 %  2.3 s behind  4 errors",
    ]
    assert all(len(line) <= 30 for line in shown(agents, 30))
    assert agents.lines("another condition", 100) == []


def test_of_many_the_extremes_and_those_in_trouble() -> None:
    names = [f"gen-{number}" for number in range(1, 9)]
    agents = now(names, **{name: second(name, 1000 + 100 * at) for at, name in enumerate(names)})
    assert shown(agents) == ["8 agents: 500 (gen-1) to 850 (gen-8) TPS, CPU 15 to 15 %"]
    agents.states([AgentState(name=name, state="lost", why="its engine ended") for name in names])
    assert shown(agents)[0] == "gen-1       lost: its engine ended"
    assert len(shown(agents)) == TROUBLED_MAX + 1
    assert shown(agents)[-1] == "and 5 more agents are lost or silent"


def test_who_is_silent_or_lost_has_no_figures_of_before() -> None:
    agents = now(["gen-1", "gen-2", "gen-3"])
    agents.states(
        [
            AgentState(name="gen-1", state="ready"),
            AgentState(name="gen-2", state="silent"),
            AgentState(name="gen-3", state="lost", why="its process ended (signal 9)"),
        ]
    )
    troubled = ["gen-2       not heard", "gen-3       lost: its process ended (signal 9)"]
    assert shown(agents) == troubled, "the trial of the lost one is over"
    agents.add("set", [second("gen-1"), second("gen-2")])
    assert shown(agents)[0].startswith("gen-1             500 TPS   50 %")
    assert shown(agents)[1:] == troubled
    told = agents.told("set")
    assert told["gen-3"] == {"state": "lost", "why": "its process ended (signal 9)"}
    assert (told["gen-1"]["tps"], told["gen-1"]["share"], told["gen-1"]["late_s"]) == (500.0, 0.5, 0.01)


def test_without_a_fleet_nothing_is_shown_or_told() -> None:
    assert AgentsNow().lines("set", 80) == []
    assert AgentsNow().told("set") == {}


def test_a_line_of_events_has_so_many_agents_and_those_in_trouble_first() -> None:
    names = [f"gen-{number}" for number in range(100)]
    agents = now(names)
    agents.states([AgentState(name=name, state="lost" if name == "gen-99" else "ready", why="") for name in names])
    told = agents.told("set")
    assert (len(told), next(iter(told.items()))) == (TOLD_MAX, ("gen-99", {"state": "lost"}))


def test_a_name_from_elsewhere_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in shown(now(["\x1b[2Jgen"], one=second("\x1b[2Jgen")))[0]
