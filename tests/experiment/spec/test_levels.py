import pytest

from loadstone.experiment.spec.levels import Level, level_text, matches, same_level


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(1, 1, True), (1, 1.0, True), (1, True, False), (1, "1", False), ("a", "a", True), (False, 0, False)],
)
def test_levels_are_distinguished_by_kind(one: Level, other: Level, same: bool) -> None:
    assert same_level(one, other) is same


def test_a_level_is_written_as_in_yaml() -> None:
    assert [level_text(level) for level in ("1 kB", 8, 0.5, True)] == ["1 kB", "8", "0.5", "true"]


def test_a_condition_fits_when_every_named_factor_has_one_of_its_levels() -> None:
    condition: dict[str, Level] = {"operation": "get", "workers": 8}
    assert matches(condition, {})
    assert matches(condition, {"operation": "get"})
    assert matches(condition, {"operation": ("set", "get"), "workers": 8})
    assert not matches(condition, {"operation": "get", "workers": 1})
    assert not matches(condition, {"operation": "set"})
    assert matches(condition, {"operation": "set", "workers": 8}, without=["operation"])
