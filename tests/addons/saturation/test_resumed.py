"""A search that is gone on with: which of its options are taken from its folder."""

from tests.parser import parser
from tests.run_folder.test_earlier_runs import require_decided


def test_each_option_of_what_is_resumed_is_decided_about() -> None:
    require_decided([*parser().commands["saturate"].commands.values()])
