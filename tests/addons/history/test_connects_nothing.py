"""What lists and compares runs connects to nothing."""

from pathlib import Path

from tests.test_connects_nothing import witnessed


def test_it_connects_to_nothing(tmp_path: Path) -> None:
    commands = [["runs"], ["compare", str(tmp_path)]]
    outcomes = witnessed(tmp_path, commands)
    assert [(arguments, seen) for arguments, _, _, seen in outcomes if seen] == []
    assert [arguments for arguments, status, _, _ in outcomes if status] == commands[1:]
    assert {status for _, status, _, _ in outcomes} == {0, 2}
