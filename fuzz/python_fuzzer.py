"""Runs one target of `targets.py` under atheris: `python fuzz/python_fuzzer.py TARGET [libFuzzer's arguments]`."""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))
LIBRARIES = {"resolved_experiment": ["ruamel"], "manifest": ["ruamel"]}
"""Whose code counts as coverage, beside loadstone's: what is counted is slow."""

with atheris.instrument_imports(include=["loadstone", *LIBRARIES.get(sys.argv[1], [])]):
    import targets  # itself not counted: the fuzzer is to find its way through what is tested


def main() -> None:
    """Give libFuzzer the target that the first argument names."""
    name = sys.argv.pop(1)
    target = targets.TARGETS[name]
    atheris.Setup(sys.argv, lambda data: targets.run_fast(target, data))
    atheris.Fuzz()


main()
