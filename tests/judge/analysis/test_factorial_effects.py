"""The effects of a factorial, with a combination that has no figure: what is still said, and how often."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.plan.group import Contrast
from loadstone.judge.analysis.analysis import EffectsAnswer
from loadstone.judge.analysis.effects import effects_of
from loadstone.report.document import SectionTable, TableRow
from loadstone.report.sections import effects
from loadstone.text.sentences import render_message

RATIOS = (("few", "set", 1.0), ("few", "get", 1.1), ("many", "set", 1.0), ("many", "get", 1.3))
PAIRS = ((0, 1), (2, 3), (0, 2), (1, 3))
CONTRASTS = (
    Contrast("main", {"operation": "get"}, {"operation": "set"}, ((0,), (1,))),
    Contrast("main", {"idle": "many"}, {"idle": "few"}, ((2,), (3,))),
    Contrast("interaction", {"operation": "get", "idle": "many"}, {"operation": "set", "idle": "few"}, ((0, 1),)),
)
DECLARED = {"name": "both", "question": "What do they change together?", "factors": ["operation", "idle"]}
BLOCKS = 12
Judged = Callable[..., EffectsAnswer]
Changes = Mapping[tuple[int, int], Any]


@pytest.fixture
def judged(studies: ModuleType, synthetic: ModuleType) -> Judged:
    """The effects of operation and idle connections, get with many 30 % faster; some trials changed."""

    def judge(changes: Changes | None = None, blocks: int = BLOCKS) -> EffectsAnswer:
        conditions = [(studies.condition(idle=idle, operation=one), ratio) for idle, one, ratio in RATIOS]
        study = studies.Study(
            synthetic, ratios=conditions, pairs=PAIRS, contrasts=CONTRASTS, name="both", blocks=blocks,
            changes=dict(changes or {}), experiment={"comparisons": [], "effects": [DECLARED]},
        )  # fmt: skip
        run = study.run()
        (answer,) = effects_of(run, run.trials)
        assert isinstance(answer, EffectsAnswer)
        return answer

    return judge


def spoiled(studies: ModuleType, *cells: int, blocks: int = BLOCKS, measured: float | None = 4.0) -> Changes:
    """Trials of these combinations with too many errors."""
    change = studies.with_check("errors", measured=measured)
    return {(block, cell): change for block in range(1, blocks + 1) for cell in cells}


def lines(answer: EffectsAnswer) -> tuple[TableRow, ...]:
    """The table of effects in a report: what each is, its ratio, what it is based on, and what it says."""
    (part,) = effects.effects_of([answer])
    return next(block for block in part.blocks if isinstance(block, SectionTable)).lines


def said(answer: EffectsAnswer) -> list[str]:
    return [str(line.cells[-1].said) for line in lines(answer)]


def kinds(answer: EffectsAnswer) -> list[str]:
    return [term.verdict.kind for term in answer.terms]


def test_effects_and_their_interaction_where_all_is_valid(judged: Judged) -> None:
    answer = judged()
    assert kinds(answer) == ["faster"] * 3
    assert [term.over for term in answer.terms] == [["few", "many"], ["set", "get"], []]
    assert "more with many than with few" in said(answer)[2]
    assert all(cell.figure is not None for cell in answer.cells)
    assert "INVALID" not in render_message(answer.answer)


def test_why_none_has_an_interval_is_said_once(judged: Judged) -> None:
    answer = judged(blocks=1)
    assert kinds(answer) == ["undecided"] * 3
    assert render_message(answer.answer).startswith("All 3 effects: UNDECIDED: ")
    assert render_message(answer.answer).count("UNDECIDED") == 1
    assert all("UNDECIDED" in one for one in said(answer))


def test_an_invalid_combination_leaves_main_effects_over_the_others(judged: Judged, studies: ModuleType) -> None:
    answer = judged(spoiled(studies, 3))
    assert kinds(answer) == ["faster", "equivalent", "invalid"]
    assert [term.over for term in answer.terms] == [["few"], ["set"], []]
    assert said(answer)[0].endswith("; without many.")
    assert said(answer)[1].endswith("; without get.")
    assert [cell.label for cell in answer.cells if cell.figure is None] == ["get, many"]
    assert all(cell.low is not None for cell in answer.cells if cell.figure is not None)


def test_its_interaction_names_the_combination(judged: Judged, studies: ModuleType) -> None:
    answer = judged(spoiled(studies, 3))
    expected = "Whether get against set depends on many against few: not known, since get, many is INVALID."
    assert said(answer)[2] == expected
    assert effects.figure_text(answer, answer.cells[3]) == "INVALID: errors, By errors"
    assert [line.cells[2].said for line in lines(answer)] == ["12 blocks", "12 blocks", "—"]
    assert [line.cells[1].said for line in lines(answer)][2] == "—"


@pytest.mark.parametrize("measured", [4.0, None])
def test_the_check_is_said_once(judged: Judged, studies: ModuleType, measured: float | None) -> None:
    whole = render_message(judged(spoiled(studies, 3, measured=measured)).answer)
    assert whole.count("errors") == 2, "its name, and its reason"
    assert whole.endswith("get, many is INVALID: errors, By errors.")


def test_some_blocks_are_enough_to_refuse_a_combination(judged: Judged, studies: ModuleType) -> None:
    """Its own failures are no accident: the better blocks may not stand for it."""
    assert kinds(judged(spoiled(studies, 3, blocks=6))) == ["faster", "equivalent", "invalid"]
    assert kinds(judged(spoiled(studies, 3, blocks=1))) == ["faster"] * 3, "one block is left out"


def test_two_invalid_combinations_are_both_named(judged: Judged, studies: ModuleType) -> None:
    answer = judged(spoiled(studies, 1, 3))
    assert kinds(answer) == ["invalid", "equivalent", "invalid"]
    assert said(answer)[0] == "Get against set: not known, since get, few; get, many are INVALID."
    assert render_message(answer.answer).count("By errors") == 2, "once for each combination"


def test_without_any_combination_nothing_is_claimed(judged: Judged, studies: ModuleType) -> None:
    answer = judged(spoiled(studies, 0, 1, 2, 3))
    assert kinds(answer) == ["invalid"] * 3
    assert all("not known, since" in line for line in said(answer))
    assert {cell.figure for cell in answer.cells} == {None}


def test_an_exact_check_refuses_by_a_single_trial(judged: Judged, studies: ModuleType) -> None:
    answer = judged({(3, 3): studies.with_check("conservation")})
    assert kinds(answer)[2] == "invalid"
    assert render_message(answer.answer).endswith("get, many is INVALID: conservation, By conservation.")


def test_what_a_generator_hides_is_of_the_effect_and_of_no_combination(judged: Judged, studies: ModuleType) -> None:
    """A combination of which the generator was the limit has a figure; its effects have a wider interval."""
    plain = judged()
    bound = judged({(block, 3): studies.costs(0.05) for block in range(1, BLOCKS + 1)})
    assert all(cell.figure is not None for cell in bound.cells)
    highs = [(term.verdict.high, other.verdict.high) for term, other in zip(bound.terms, plain.terms, strict=True)]
    assert all(wide is not None and narrow is not None and wide > narrow for wide, narrow in highs)
