#!/usr/bin/env python3
"""Writes docs/plan.schema.json, experiment.schema.json and gate.schema.json from the classes; `--check` only compares.

The experiment's schema is for editors: what stands below `workload` are the plan's own terms, where a
value may also be `${factor}` or a text with a unit.
"""

import json
import sys
from pathlib import Path
from typing import Any

from generated import keep

from loadstone.addons.gate.result import GateResult
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.measure.goals.registry import DECLARED
from loadstone.text.units import kind_of

DOCS = Path(__file__).parents[1] / "docs"
Schema = dict[str, Any]

PARTS = (
    *("model", "pool", "phases", "keys", "documents", "verify", "timeouts", "data", "recording"),
    *("pipeline_depth", "protocol", "threads", "back_end"),
)
GIVEN_BY_LOADSTONE = ("Endpoint", "Tls", "Operation", "Share")
REFERENCE = {"type": "string", "pattern": r"\$\{[^{}]+\}"}
SHARE = {
    "type": "string",
    "description": "Length of the changed field as a share of the payload, e.g. `10 %`; instead of field_bytes.",
}
COUNT_OF = {
    "type": "string",
    "description": "A data set whose rows are the count; where it is empty, `count` holds.",
}
AUTO_THREADS = {
    "default": "auto",
    "description": "Of the load generator; `auto`: as many as the CPUs allow and the load needs.",
}
REPEAT = {
    "anyOf": [{"type": "integer", "minimum": 1}, REFERENCE],
    "description": "How often the last argument is sent.",
}


def plan_schema() -> Schema:
    """What a driver is given."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Plan.model_json_schema()}


def experiment_schema() -> Schema:
    """What a user writes."""
    plan = Plan.model_json_schema()
    schema = Experiment.with_add_ons().model_json_schema()
    words = {name: loosened(name, part) for name, part in plan["$defs"].items()}
    words["Keys"]["properties"] = {
        name: part for name, part in words["Keys"]["properties"].items() if name not in ("prefix", "loaded")
    }
    words["Documents"]["properties"]["field_share"] = SHARE
    del words["Recording"]["properties"]["stored_bytes"]
    words["Keys"]["properties"]["count_of"] = COUNT_OF
    words["ServerCommand"]["properties"]["repeat"] = REPEAT
    words["ServerCommand"]["properties"]["args"] = {
        "anyOf": [{"type": "string"}, words["ServerCommand"]["properties"]["args"]]
    }
    definitions = schema["$defs"] | {name: part for name, part in words.items() if name not in GIVEN_BY_LOADSTONE}
    workload, operation = definitions["Workload"]["properties"], definitions["OperationSpec"]["properties"]
    for part in PARTS:
        workload[part] = loosened(part, plan["properties"][part])
    workload["threads"] = AUTO_THREADS | {"anyOf": [{"const": "auto"}, *workload["threads"]["anyOf"]]}
    workload["driver"] |= {"type": "string"}
    for replaced in ("Quick", "AsPublished"):
        definitions[replaced]["properties"]["phases"] = workload["phases"]
    definitions["AsPublished"]["properties"]["model"] = {"type": "object"}
    operation["commands"]["items"] = {"$ref": "#/$defs/ServerCommand"}
    operation["requests"]["items"] = {"$ref": "#/$defs/HttpRequest"}
    operation["read_back"] = {"anyOf": [{"$ref": "#/$defs/ServerCommand"}, {"type": "null"}]}
    _declare_goals(schema, definitions)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": definitions}


def _declare_goals(schema: Schema, definitions: Schema) -> None:
    """What each kind of goal takes; where there is no kind, an experiment has none."""
    kinds = dict(DECLARED.items())
    if not kinds:
        del schema["properties"]["goals"], definitions["GoalSpec"]
        return
    goal = definitions["GoalSpec"]
    goal["properties"]["kind"]["enum"] = list(kinds)
    goal["allOf"] = []
    for name, kind in kinds.items():
        settings = kind.settings_type.model_json_schema()
        definitions |= settings.pop("$defs", {})
        goal["allOf"].append({"if": {"properties": {"kind": {"const": name}}}, "then": _beside(settings)})


def _beside(settings: Schema) -> Schema:
    """Settings of a kind, beside what all goals have."""
    return {key: settings[key] for key in ("description", "properties", "required") if key in settings}


def gate_schema() -> Schema:
    """What a gate writes."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **GateResult.model_json_schema()}


def loosened(name: str, schema: Schema) -> Schema:
    """The schema of a field of the plan, with references and texts with a unit allowed as well."""
    if "properties" in schema:
        return {**schema, "properties": {key: loosened(key, part) for key, part in schema["properties"].items()}}
    if "$ref" in schema or "const" in schema:
        return schema
    if "oneOf" in schema:
        return {"anyOf": schema["oneOf"]}
    about = {key: value for key, value in schema.items() if key in ("title", "description", "default")}
    exact = {key: value for key, value in schema.items() if key not in about}
    kind = kind_of(name)
    text = {"type": "string", "description": f"{kind.noun}: {kind.examples}"} if kind else REFERENCE
    return {**about, "anyOf": [exact, text]}


def main() -> int:
    schemas = {"plan": plan_schema(), "experiment": experiment_schema(), "gate": gate_schema()}
    texts = {name: json.dumps(schema, indent=2, ensure_ascii=False) for name, schema in schemas.items()}
    return keep({DOCS / f"{name}.schema.json": f"{text}\n" for name, text in texts.items()})


if __name__ == "__main__":
    sys.exit(main())
