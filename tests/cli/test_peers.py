"""Options of similar programs that mean something else here, or nothing: each gets one answer that helps."""

import pytest

from loadstone.cli.help import in_readers_language
from loadstone.cli.main import whole
from loadstone.safety.errors import UserError

HOST = "http://127.0.0.1:1/"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["redis", "--hide-histogram"], "--hide-histogram: no histogram is printed; leave it out"),
        (["redis", "-x", "3"], "-x: write --repeat NUMBER"),
        (["redis", "--run-count", "3"], "--run-count: write --repeat NUMBER"),
        (
            ["redis", "-x", "SET", "key"],
            "-x: no value is read from the standard input; write --command 'SET {key} TEXT'",
        ),
        (
            ["http", HOST, "-q"],
            "-q: no rate; -q is the rate of each connection, as with hey; write for example 100; to print less: "
            "--quiet",
        ),
        (
            ["http", "-q", HOST],
            f"-q '{HOST}': no rate; -q is the rate of each connection, as with hey; write for example 100; to print "
            "less: --quiet",
        ),
    ],
)
def test_an_option_of_another_program_gets_one_answer(words: list[str], says: str) -> None:
    with pytest.raises(UserError) as caught:
        in_readers_language(whole())(words, prog_name="loadstone", standalone_mode=False)
    assert str(caught.value) == says
