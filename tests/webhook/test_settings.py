"""The webhook's settings."""

from pathlib import Path

import pytest

from podrail.multus.nad import OPEN, Isolation
from podrail_io.environ import SettingsError
from podrail_io.serving import Serving
from webhook.settings import Settings


def test_the_defaults_serve_on_every_address() -> None:
    """Without a variable: port 8443, hardened, one process, the service account, level info."""
    expected = Settings(
        serving=Serving("0.0.0.0", 8443, None, None, "hardened", 1, 64),
        profiles=None,
        kubeconfig=None,
        server="",
        isolation=OPEN,
        log_level="info",
    )
    assert expected == Settings.from_environ({})


def test_every_setting_has_its_variable(tmp_path: Path) -> None:
    """The names are podrail's own, with one prefix; others are not looked at."""
    files = {name: tmp_path / name for name in ("cert", "key", "kubeconfig")}
    for path in files.values():
        path.touch()
    given = {
        "PODRAIL_LISTEN": "[::1]:0",
        "PODRAIL_CERT": str(files["cert"]),
        "PODRAIL_KEY": str(files["key"]),
        "PODRAIL_WORKER_CLASS": "threads",
        "PODRAIL_WORKERS": "2",
        "PODRAIL_THREADS": "8",
        "PODRAIL_PROFILES": str(tmp_path),
        "PODRAIL_KUBECONFIG": str(files["kubeconfig"]),
        "PODRAIL_SERVER": "http://127.0.0.1:1",
        "PODRAIL_NAMESPACE_ISOLATION": "true",
        "PODRAIL_GLOBAL_NAMESPACES": "default,shared",
        "PODRAIL_LOG_LEVEL": "debug",
        "LISTEN": "ignored",
    }
    expected = Settings(
        serving=Serving("::1", 0, files["cert"], files["key"], "threads", 2, 8),
        profiles=tmp_path,
        kubeconfig=files["kubeconfig"],
        server="http://127.0.0.1:1",
        isolation=Isolation(enforced=True, open_to_all=frozenset({"default", "shared"})),
        log_level="debug",
    )
    assert expected == Settings.from_environ(given)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """One line for each variable, with its value and what was expected."""
    given = {
        "PODRAIL_LISTEN": "8443",
        "PODRAIL_CERT": str(tmp_path / "none"),
        "PODRAIL_WORKER_CLASS": "eventlet",
        "PODRAIL_THREADS": "0",
        "PODRAIL_PROFILES": str(tmp_path / "none"),
        "PODRAIL_LOG_LEVEL": "loud",
    }
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ(given)
    assert list(given) == [one.partition(":")[0] for one in caught.value.problems]
