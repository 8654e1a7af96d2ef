from pathlib import Path

import pytest

SMALL = Path(__file__).parents[1] / "examples" / "experiment" / "small.yaml"
COMPARISONS = """\
comparisons:
  - name: users
    question: Do more users get more done?
    between: workers
    levels: [1, 8]
    at:
      operation: [set, get]
      payload: [100 B]
  - name: kinds
    question: Does the kind matter?
    between: operation
    levels: [get, set]
    baseline: set
    at: {idle: [few]}
    quick_at: {idle: [many]}
    metric: response_ns.p99
    margin: 20 %
design:
  budget: 20m
  table_blocks: 3
  trial: 4 s
"""


@pytest.fixture
def small() -> str:
    """The text of a small experiment without a mistake, which compares nothing."""
    return SMALL.read_text()


@pytest.fixture
def compared(small: str) -> str:
    """The same with two comparisons, from line 78 on."""
    return small + COMPARISONS
