"""A CNI plugin that writes down what it is asked and has another plugin do it.

`delegate` is that plugin's own configuration; `masters` gives its master by deviceID. What it
records are ADDs, a file of JSON each: the pod, the interface, and the device that Multus passed.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

KEPT = ("cniVersion", "name", "deviceID", "pciBusID", "runtimeConfig", "prevResult")


def main() -> None:
    """Answer one call of the runtime."""
    environ = os.environ  # noqa: TID251 - a CNI plugin is called through the environment
    command = environ["CNI_COMMAND"]
    asked = json.load(sys.stdin)
    if command == "ADD":
        _record(Path(asked["records"]), asked, dict(environ))
    kept = {key: asked[key] for key in KEPT if key in asked}
    inner = {**kept, **asked.get("delegate", {})}
    if asked.get("masters"):
        inner["master"] = asked["masters"].get(asked.get("deviceID"), "none")
    plugin = Path(environ["CNI_PATH"].split(os.pathsep)[0]) / inner["type"]
    reading, writing = os.pipe()
    os.write(writing, json.dumps(inner).encode())
    os.close(writing)
    os.dup2(reading, 0)
    os.execve(plugin, [plugin.name], environ)


def _record(folder: Path, asked: dict[str, Any], environ: dict[str, str]) -> None:
    pairs = (one.partition("=") for one in environ["CNI_ARGS"].split(";"))
    given = {key: text for key, _, text in pairs}
    said = {
        "pod": given["K8S_POD_NAME"],
        "interface": environ["CNI_IFNAME"],
        "device": asked.get("deviceID", ""),
    }
    name = f"{environ['CNI_CONTAINERID']}-{environ['CNI_IFNAME']}.json"
    (folder / name).write_text(json.dumps(said))


main()
