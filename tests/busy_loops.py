"""Programs that keep a CPU busy, and end with the tests that started them, however those end."""

import os

TESTS_RUN = f'os.path.exists("/proc/{os.getpid()}")'
"""In Python, after `import os`: whether the tests still run."""
LOOP = f"import os\nwhile {TESTS_RUN}: pass"
SHELL_LOOP = f"while [ -d /proc/{os.getpid()} ]; do :; done"
