"""Who took the CPUs is named, in the check and so in the bound's reason."""

from loadstone.judge.checks.generator_bounds import _most
from loadstone.report import figure_format as fmt
from loadstone.text.message import message


def test_the_programs_that_took_most_are_named() -> None:
    beside = {
        "other programs": 0.68,
        "program: node": 0.2,
        "program: cargo": 0.4,
        "program: a": 0.05,
        "program: b": 0.03,
    }
    reason = message(
        "check.taken.at_rate", programs={"other programs": 0.68, "app": 0.1}, single=_most(beside), stolen=0.0
    )
    assert fmt.sentence(reason).startswith("other programs 0.68 CPU (cargo 0.40, node 0.20, a 0.05), app 0.10 CPU used")


def test_a_folder_of_before_names_none() -> None:
    reason = message("check.taken.at_rate", programs={"other programs": 0.68}, stolen=0.0)
    assert fmt.sentence(reason).startswith("other programs 0.68 CPU used")
