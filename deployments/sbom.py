"""What is in the image, as CycloneDX 1.5: its Python packages, the engine's crates, and the system's packages."""

import json
import subprocess
from importlib.metadata import distributions
from typing import Any

DPKG = ["dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Architecture}\n"]


def python_packages() -> list[dict[str, Any]]:
    found = []
    for one in distributions():
        name, licence = one.metadata["Name"], one.metadata.get("License-Expression") or one.metadata.get("License")
        part: dict[str, Any] = {
            "type": "library",
            "name": name,
            "version": one.version,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{one.version}",
        }
        if licence and len(licence) < 80:
            part["licenses"] = [{"license": {"name": licence}}]
        found.append(part)
    return found


def crates() -> list[dict[str, Any]]:
    """As the wheel lists them."""
    found: list[dict[str, Any]] = []
    for one in distributions():
        for file in one.files or []:
            if one.metadata["Name"] == "loadstone" and file.name.endswith(".cyclonedx.json"):
                found += [
                    {key: part[key] for key in ("type", "name", "version", "purl", "licenses") if key in part}
                    for part in json.loads(file.locate().read_text())["components"]
                ]
    return found


def system_packages() -> list[dict[str, Any]]:
    try:
        listed = subprocess.run(DPKG, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split() for line in listed.splitlines()]
    return [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:deb/debian/{name}@{version}?arch={arch}"}
        for name, version, arch in rows
    ]


def main() -> None:
    """Print it; nothing in it depends on when it is made."""
    parts = [*python_packages(), *crates(), *system_packages()]
    unlike = {(part.get("purl"), part["name"], part["version"]): part for part in parts}
    components = [unlike[key] for key in sorted(unlike, key=str)]
    print(
        json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}, indent=1)
    )


main()
