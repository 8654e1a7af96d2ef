"""What `loadstone doctor` says of what an application needs: Java, Maven, Node, limits, containers."""

import re

from loadstone.deploy.fact import Fact
from loadstone.deploy.processes.resource_limits import Limits, limit
from loadstone.deploy.processes.workspace import Workspace
from loadstone.deploy.program_output import output_of
from loadstone.errors import UserError

JAVA_OLDEST = 17
NODE_OLDEST = (20, 19)


def java() -> Fact:
    """The JVM that would run an application."""
    said = output_of("java", "-version")
    if said is None:
        return Fact("java", "not installed", "warn", "Debian: apt-get install default-jdk-headless; needed by Spring")
    found = re.search(r'version "(\d+)[^"]*"', said)
    value = found[0].removeprefix("version ").strip('"') if found else said.split("\n")[0]
    if found and int(found[1]) < JAVA_OLDEST:
        return Fact("java", value, "warn", f"Spring Boot needs {JAVA_OLDEST} or newer")
    return Fact("java", value, "ok")


def maven() -> Fact:
    """What builds the Spring application."""
    said = output_of("mvn", "-v")
    if said is None:
        return Fact("maven", "not installed", "warn", "Debian: apt-get install maven; needed once, to build Spring")
    found = re.search(r"Maven ([\d.]+)", said)
    return Fact("maven", found[1] if found else "installed", "ok")


def node() -> Fact:
    """The Node that would run an application."""
    said = output_of("node", "--version")
    needed = f"{NODE_OLDEST[0]}.{NODE_OLDEST[1]} or newer"
    if said is None:
        return Fact(
            "node", "not installed", "warn", f"Debian: apt-get install nodejs npm, if that is {needed}; needed by Nest"
        )
    found = re.search(r"(\d+)\.(\d+)[.\d]*", said)
    if found and (int(found[1]), int(found[2])) < NODE_OLDEST:
        return Fact("node", found[0], "warn", f"Nest needs {needed}; Debian's may be older")
    if output_of("npm", "--version") is None:
        return Fact("node", "npm is not installed", "warn", "install npm 10 or newer; needed once, to build Nest")
    return Fact("node", found[0] if found else "installed", "ok")


def limits() -> Fact:
    """Whether CPU and memory limits can be given to servers and applications; tried out."""
    workspace = Workspace("doctor")
    try:
        tried = limit(Limits(cpu=0.5, memory=64 * 1024**2), workspace)
    finally:
        workspace.remove()
    if tried.unavailable is not None:
        return Fact(
            "CPU and memory limits", tried.unavailable, "warn", "an experiment's limits are not in force without them"
        )
    return Fact("CPU and memory limits", "can be given (control groups)", "ok")


def containers() -> Fact:
    """The container engine, which only `kind: container` needs."""
    from loadstone.deploy.containers.container_engine import find_engine  # the library takes half a second to load

    try:
        return Fact("container engine", find_engine().name, "ok")
    except UserError:
        return Fact("container engine", "none answers (needed for kind: container only)", "ok")
