"""Every program starts from the image, as nobody in particular, with a root that cannot be written."""

from typing import Final

import images
import pytest
from controlplane.installed import eventually

pytestmark = pytest.mark.image

COMMANDS: Final = ("kubectl-podrail", "podrail", "podrail-certs")
SERVERS: Final = ("controller", "extender", "nodeagent", "webhook")
IMPORTS: Final = """
import importlib, pathlib, sys
found = set()
for root in map(pathlib.Path, sys.path):
    for one in root.rglob("*.so"):
        parts = one.relative_to(root).parts
        if not {"lib-dynload", "dist-packages"} & set(parts):
            found.add(".".join((*parts[:-1], one.name.partition(".")[0])))
for name in sorted(found):
    importlib.import_module(name)
print(len(found))
"""
"""Import each module of C or Rust, so that every shared library is looked for; print how many."""


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_help(runtime: images.Runtime, command: str) -> None:
    """A command prints how it is used."""
    assert "Usage: " in runtime.run(f"help-{command}", command, "--help")


@pytest.mark.parametrize("name", SERVERS)
def test_servers_answer(runtime: images.Runtime, name: str) -> None:
    """A server is healthy with no API server there and a root that it cannot write; SIGTERM ends it."""
    # The containers' network namespace is their own, so these ports are free.
    address = f"127.0.0.1:{8080 + SERVERS.index(name)}"
    settings = {"PODRAIL_LISTEN": address, "PODRAIL_SERVER": "http://127.0.0.1:9"}
    node = {"PODRAIL_NODE": "n"} if name == "nodeagent" else {}
    child = runtime.start(name, (f"podrail-{name}",), **settings, **node)
    eventually(lambda: runtime.healthy(address), f"{name} is healthy", 60)
    assert "\nUid:\t65532\t65532\t65532\t65532\n" in runtime.proc(name, "status")
    mounted = [line.split() for line in runtime.proc(name, "mountinfo").splitlines()]
    assert ["ro"] == [mount[5].split(",")[0] for mount in mounted if mount[4] == "/"]
    runtime.end(name)
    eventually(lambda: not runtime.running(name), f"{name} ends")
    said = child.log.read_text()
    assert [] == [word for word in ("Read-only file system", "Traceback", "ERROR") if word in said]


@pytest.mark.parametrize("architecture", [images.HERE, images.OTHER])
def test_every_library_is_there(runtime: images.Runtime, architecture: str) -> None:
    """Each module of C or Rust can be imported; the other architecture's in an emulator."""
    python = ("/usr/bin/python3.11", "-c", IMPORTS)
    imported = runtime.run(f"imports-{architecture}", *python, architecture=architecture)
    assert int(imported) > 40


def test_the_other_architecture_starts(runtime: images.Runtime) -> None:
    """Under an emulator the command prints how it is used there too."""
    command = ("/usr/bin/python3.11", "-sP", "/usr/bin/podrail", "--help")
    assert "Usage: " in runtime.run("help-other", *command, architecture=images.OTHER)
