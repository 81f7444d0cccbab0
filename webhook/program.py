"""podrail-webhook: serves the mutating webhook until it is told to stop."""

import os
import sys
from typing import Any

from podrail_io import logs, serving
from podrail_io.environ import SettingsError
from podrail_io.files import FileError
from podrail_io.kube import KubeError
from webhook import app
from webhook.metrics import Metrics
from webhook.settings import Settings
from webhook.state import State


def main() -> None:
    """Serve; exit status 1 means that the settings or files were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
        certificates = serving.certificates_of(settings.serving)
        state = State(settings, certificates)
    except (SettingsError, FileError, KubeError, OSError) as error:
        sys.exit(f"podrail-webhook: {error}")

    def application() -> Any:
        metrics = Metrics(certificates)
        state.profiles.export(metrics.registry, "profiles")
        state.start()
        return app.create(state.directory, state.problems, metrics)

    serving.serve(application, settings.serving, certificates)
