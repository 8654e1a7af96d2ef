"""A driver's program that does what it must not, by the word after it; it needs no server."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "driver"


def say(line: str) -> None:
    print(line, flush=True)


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.json").read_text().strip()


def main() -> None:
    plan = json.loads(sys.stdin.readline())["plan"]
    match sys.argv[1]:
        case "hangs":
            say(example("ready"))
            time.sleep(600)
        case "deaf":  # to orders, and to the end of its input
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say(example("ready"))
            while True:
                time.sleep(0.1)
                say(example("interval"))
        case "rubbish":
            say(example("ready"))
            say("Segmentation fault")
        case "dies":
            say(example("ready"))
            print("out of luck", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        case "panics":
            say(example("ready"))
            stacks = [f"goroutine {number} [running]:\n\tmain.go:{number} +0x431" for number in range(100)]
            print("panic: runtime error: makeslice: len out of range", *stacks, sep="\n", file=sys.stderr, flush=True)
            sys.exit(2)
        case "swells":
            say(example("ready"))
            kept = [os.urandom(1) * 10_000_000 for _ in range(30)]
            time.sleep(600)
            print(len(kept))
        case "holds":  # so many bytes, for a moment
            kept = [os.urandom(1) * int(sys.argv[2])]
            say(example("ready"))
            time.sleep(0.3)
            del kept
            say(example("record"))
        case "leaves":  # a process in a session of its own
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            Path(sys.argv[2]).write_text(str(child.pid))
            say(example("ready"))
            say(example("record"))
        case "prints":  # its secrets
            print(plan["endpoints"][0]["password"], file=sys.stderr, flush=True)
            say(example("ready"))
            say(example("record"))
        case "floods":
            print("x" * 1_000_000, file=sys.stderr, flush=True)
            say(example("ready"))
            say(example("record"))
        case "environment":
            print(*os.environ, file=sys.stderr, flush=True)
            say(example("ready"))
            say(example("record"))
        case "daemon":  # works in a process that left it
            command = f"import os; open({sys.argv[2]!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
            launch = (
                f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {command!r}], start_new_session=True)"
            )
            subprocess.run([sys.executable, "-c", launch], check=True)
            say(example("ready"))
            for _ in range(2):
                began_ns = time.time_ns()
                time.sleep(1.2)  # it is looked for new processes each second
                interval = json.loads(example("interval"))
                interval |= {"start_unix_ns": began_ns, "duration_s": 1.2, "operations": {}}
                say(json.dumps(interval))
            say(example("record"))
        case "cpus":
            print(sorted(os.sched_getaffinity(0)), os.environ.get("OWN"), file=sys.stderr, flush=True)
            say(example("ready"))
            say(example("record"))


main()
