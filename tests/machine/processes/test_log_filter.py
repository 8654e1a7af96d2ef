"""A process's log holds no secret, however it came in and whatever ended it."""

import os
import random
import re
import resource
import signal
import stat
import sys
from itertools import product
from pathlib import Path

import pytest
from tests.real_servers import wait_until

from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.log_filter import LogFilter
from loadstone.machine.processes.workspace import Workspace
from loadstone.safety.secrets.known import learn

FORMS = [("abcd", "1"), ("abcdef", "2"), ("xxab", "3"), ("aab", "4")]
TEXTS = ["abcdef", "abcdxabcde", "xxabcd", "xxxabab", "aaab", "abcabcdabc", "xaabcdef", "abcde", "\n"]


@pytest.mark.fault("a secret is logged in pieces, or while processes are killed")
@pytest.mark.parametrize("text", TEXTS)
def test_a_secret_in_pieces_is_found_as_in_one(text: str) -> None:
    whole = LogFilter(FORMS)
    expected = whole.feed(text.encode()) + whole.flush()
    for cuts in product((False, True), repeat=max(0, len(text) - 1)):
        pieces = LogFilter(FORMS)
        out, piece = b"", ""
        for letter, cut in zip(text, (*cuts, True), strict=True):
            piece += letter
            if cut:
                out += pieces.feed(piece.encode())
                piece = ""
        assert out + pieces.flush() == expected
    assert not any(form.encode() in expected for form, _ in FORMS)


def test_any_text_in_any_pieces_is_replaced_as_a_whole_one() -> None:
    """The first of those that overlap counts, and of two at one place the longer one."""
    chance = random.Random(20261122)
    for _ in range(3000):
        forms = {"".join(chance.choices("ab.", k=chance.randint(1, 5))): f"<{n}>" for n in range(chance.randint(1, 4))}
        text = "".join(chance.choices("ab.x", k=40))
        longest_first = sorted(forms, key=len, reverse=True)
        expected = re.sub("|".join(map(re.escape, longest_first)), lambda found, of=forms: of[found[0]], text)
        pieces, out, at = LogFilter(list(forms.items())), b"", 0
        while at < len(text):
            end = at + chance.randint(1, 12)
            out += pieces.feed(text[at:end].encode())
            at = end
        assert (out + pieces.flush()).decode() == expected, (forms, text)


def test_what_may_not_become_a_secret_is_written_at_once() -> None:
    pieces = LogFilter([("secret", "***")])
    assert pieces.feed(b"a line\nand sec") == b"a line\nand "
    assert pieces.feed(b"ond") == b"second"
    assert pieces.feed(b"secret\n") == b"***\n"


def started(tmp_path: Path, program: str) -> GuardedProcess:
    workspace = Workspace("talker", tmp_path)
    process = GuardedProcess([sys.executable, "-c", program], workspace, tmp_path / "talker.log")
    process.start()
    return process


def test_the_last_lines_are_there_once_it_ended(tmp_path: Path) -> None:
    learn("Hunter2secret")
    program = "import os; os.write(1, b'line\\n' * 50_000 + b'with Hunter2'); os.write(2, b'secret, the end')"
    process = started(tmp_path, program)
    wait_until(lambda: not process.alive())
    lines = process.log_lines()
    assert len(lines) == 50_001
    assert lines[-1] == "with ***, the end"
    assert stat.S_IMODE(process.log.stat().st_mode) == 0o600
    process.close()


@pytest.mark.fault(
    "a secret is logged in pieces, or while processes are killed", "it never reaches the disk", area="secrets"
)
@pytest.mark.parametrize("whom", ["guard", "process"])
def test_a_killed_one_leaves_no_secret_in_its_log(tmp_path: Path, whom: str) -> None:
    learn("Hunter2secret")
    process = started(tmp_path, "import time; print('login Hunter2secret\\nHunter2', flush=True); time.sleep(600)")
    wait_until(lambda: "login ***" in process.log.read_text())
    os.kill(process.guard_pid if whom == "guard" else process.pid or 0, signal.SIGKILL)
    wait_until(lambda: not process.alive())
    assert "Hunter2secret" not in process.log.read_text()
    process.close()


def test_a_log_that_cannot_be_written_does_not_hold_it_up(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = f"import os; os.write(1, b'x' * 500_000); open({str(done)!r}, 'w').close()"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # its guard inherits it
    try:
        process = started(tmp_path, program)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    wait_until(done.exists)
    process.close()
    assert (tmp_path / "talker.log").stat().st_size == 10_000
