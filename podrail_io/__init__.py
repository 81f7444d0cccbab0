"""The doors: API server, files, TLS, serving, settings, logs and metrics. They know no rails."""
