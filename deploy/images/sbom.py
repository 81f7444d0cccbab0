#!/usr/bin/env python3
"""The bill of materials of an image, as CycloneDX 1.6 JSON: all that was unpacked into it.

`sbom.py ARCHITECTURE FOLDER...` prints it. The folders hold the very wheels and Debian packages
that the image is made of; SOURCE_DATE_EPOCH dates it. The same files give the same bytes.
"""

import email.parser
import hashlib
import json
import os
import sys
import uuid
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

PRODUCT = "podrail"


def document(files: Iterable[Path], architecture: str, seconds: int) -> dict[str, Any]:
    """The whole document; seconds since 1970 say when the image was made."""
    found = [READERS[one.suffix](one) for one in files if one.suffix in READERS]
    parts = sorted(found, key=lambda one: one["bom-ref"])
    image = {
        "type": "container",
        "bom-ref": f"image/{architecture}",
        "name": PRODUCT,
        "version": next(one["version"] for one in parts if one["name"] == PRODUCT),
        "properties": [{"name": "podrail:architecture", "value": architecture}],
    }
    identity = json.dumps([image, parts], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, identity)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": image,
        },
        "components": parts,
        "dependencies": [{"ref": image["bom-ref"], "dependsOn": [one["bom-ref"] for one in parts]}],
    }


def _wheel(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        said = email.parser.Parser().parsestr(archive.read(name).decode())
    project = said["Name"].lower().replace("_", "-")
    found = _component(path, project, said["Version"], f"pkg:pypi/{project}@{said['Version']}")
    return found | _licence(said)


def _licence(said: Message) -> dict[str, Any]:
    """An SPDX expression where the project gives one (PEP 639), else its own short words."""
    expression, words = said["License-Expression"], (said["License"] or "").strip()
    if expression:
        return {"licenses": [{"expression": expression}]}
    return {"licenses": [{"license": {"name": words}}]} if words and "\n" not in words else {}


def _deb(path: Path) -> dict[str, Any]:
    """A file from apt is called name_version_architecture.deb, the colon of an epoch escaped."""
    name, version, architecture = path.stem.split("_")
    version = unquote(version)
    place = f"{quote(name, safe='')}@{quote(version, safe='')}"
    purl = f"pkg:deb/debian/{place}?arch={architecture}&distro=debian-12"
    return _component(path, name, version, purl)


def _component(path: Path, name: str, version: str, purl: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "purl": purl,
    }


READERS = {".whl": _wheel, ".deb": _deb}


def main(architecture: str, *folders: str) -> None:
    """Print the document."""
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])  # noqa: TID251 - a program reads it
    files = (one for folder in folders for one in Path(folder).iterdir())
    found = document(files, architecture, seconds)
    print(json.dumps(found, indent=1, sort_keys=True))  # noqa: T201 - its output


if __name__ == "__main__":
    main(*sys.argv[1:])
