"""`docs/how-it-decides.md`: the judge says of its examples what the page says."""

import re
from pathlib import Path

import pytest

from loadstone.experiment.plan.look_schedule import LOOK_ALPHA
from loadstone.judge.statistics.decision import verdict_of_blocks
from loadstone.judge.statistics.effect import detectable_effect
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import VerdictKind
from loadstone.report.glossary import VERDICT_TERMS
from loadstone.report.verdicts import verdict_text
from loadstone.text.figures import log_percent

PAGE = Path(__file__).parents[2] / "docs" / "how-it-decides.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```\n(\d+) blocks: ([-+.\d ]+)\n(.+)\n```", TEXT)


@pytest.mark.parametrize(("blocks", "percents", "sentence"), EXAMPLES, ids=[words[:12] for _, _, words in EXAMPLES])
def test_the_judge_says_so(blocks: str, percents: str, sentence: str) -> None:
    ratios = [1 + float(percent) / 100 for percent in percents.split()]
    assert len(ratios) == int(blocks)
    budget = 2.0 if sentence.startswith("NOT DECIDABLE") else 45.0
    settings = Settings(names=("json", "string"), budget_minutes=budget, trial_s=3, overhead_s=1)
    assert verdict_text(verdict_of_blocks([1.0] * len(ratios), ratios, settings)) == sentence


def test_every_kind_of_verdict_is_explained() -> None:
    kinds: list[VerdictKind] = ["equivalent", "faster", "mixed", "undecided", "not_decidable"]
    for kind in kinds:
        assert any(VERDICT_TERMS[kind] in sentence for _, _, sentence in EXAMPLES)
    for term in VERDICT_TERMS.values():
        assert f"### {term}\n" in TEXT


@pytest.mark.parametrize("percent", [2.4, 5.7, 12.5])
def test_what_it_could_have_detected(percent: float) -> None:
    [line] = [line for line in TEXT.split("\n") if line.startswith(f"| {percent} %")]
    found = [detectable_effect(blocks, percent / 100, LOOK_ALPHA) for blocks in (8, 12, 18, 27, 40)]
    cells = [float(cell.strip().removesuffix(" %")) for cell in line.strip("|").split("|")[1:]]
    assert cells == [round(log_percent(effect or 0.0), 1) for effect in found]
