"""What Python knows of a wire protocol stands in one declaration, and is what the engine says."""

import ast
import re
from pathlib import Path

import pytest

from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.software import SOFTWARE

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python" / "loadstone"
WIRE = ROOT / "engine" / "src" / "wire"
LITERAL = re.compile(rf"\b({'|'.join(PROTOCOLS)})\b")
MENTIONS = {
    "addons/driver_contract/faults.py": "the driver contract plays a server that sends none of it, and alters plans",
    "experiment/spec/workload.py": "the default that editors show",
    "run_folder/earlier_runs.py": "options of commands, one of which has such a name",
    "cli/ad_hoc_experiment.py": "what speaks it is a service, and no server",
    "addons/gate/experiment.py": "`loadstone gate` of a service is for this one",
    "addons/saturation/experiment.py": "`loadstone saturate http` is for this one",
    "cli/http_command.py": "`loadstone http` is for this one",
    "cli/redis_experiment.py": "`loadstone redis` is for these two",
    "cli/redis_options.py": "the option by which one of the two is chosen",
    "cli/redis_command.py": "what to write in the place of other tools' options",
    "run/parts_behind.py": "where a server listens whose URL names no port",
    "safety/secrets/known.py": "the software that has its name",
    "safety/secrets/in_texts.py": "the scheme that has its name",
    "text/korean_particles.py": "how the names of products are read aloud in Korean",
}
"""Who names a protocol all the same, beside the declarations of software, and for what."""
ENUM = (ROOT / "engine" / "src" / "plan.rs").read_text().split("pub enum WireKind")[1].split("}")[0]
KINDS = re.findall(r"^    ([A-Z]\w+),$", ENUM, re.M)
DECLARED = [path for path in WIRE.glob("*.rs") if "follows_versions:" in path.read_text()]
"""The protocols' own files."""


def literals(path: Path) -> list[str]:
    """The texts of the code that name a protocol; not those that stand as docstrings."""
    text = path.read_text()
    if not LITERAL.search(text):
        return []  # to parse the package takes seconds
    tree = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    return [one.value for one in constants if isinstance(one.value, str) and LITERAL.search(one.value)]


def test_a_protocol_is_named_in_its_declaration_alone() -> None:
    naming = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        # the room of a software may have the same name
        if path != PACKAGE / "experiment" / "software.py"
        and path.parent.name != "metrics"
        and path.parent.name not in PROTOCOLS
        and literals(path)
    }
    assert naming - {"experiment/plan/protocols.py"} == {name for name in MENTIONS if (PACKAGE / name).exists()}


def test_every_protocol_of_the_engine_is_declared() -> None:
    assert {kind.lower() for kind in KINDS} == set(PROTOCOLS)


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_a_declaration_says_what_the_engine_says(name: str) -> None:
    (path,) = (path for path in DECLARED if name.startswith(path.stem))
    says = dict(re.findall(r"^ +(\w+): (true|false),$", path.read_text(), re.M))
    declared = PROTOCOLS[name]
    assert {key: says[key] == "true" for key in ("pipelining", "slots", "data_file", "follows_versions")} == {
        "pipelining": declared.pipelining,
        "slots": declared.slots,
        "data_file": declared.data_file,
        "follows_versions": declared.has_keys,
    }


def test_a_software_declares_the_protocols_that_there_are() -> None:
    spoken = {protocol for software in SOFTWARE.values() for protocol in software.protocols}
    assert spoken <= {name for name, one in PROTOCOLS.items() if not one.is_http}
    assert spoken | {name for name, one in PROTOCOLS.items() if one.is_http} == set(PROTOCOLS)
