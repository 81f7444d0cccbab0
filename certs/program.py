"""podrail-certs: keeps the webhook's certificates in a cluster, or makes them once in a folder."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
from cryptography.hazmat.primitives import hashes

from certs import authority, store
from certs.authority import Purpose

DEFAULT_HOSTS: Final = ("podrail-webhook.podrail-system.svc", "localhost", "127.0.0.1", "::1")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Keep the certificates that the webhook serves with, or make them once."""


@main.command()
def run() -> None:
    """Keep the Secrets and the caBundle of a cluster good until told to stop.

    Settings are environment variables, PODRAIL_METHOD and others: see docs/user/certificates.md.
    """
    # The API server's client takes a second to import: too long for who wants a file or two.
    from certs import service  # noqa: PLC0415 - the reason stands above

    service.run(os.environ, _now)  # noqa: TID251 - the program reads it


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--host", "hosts", multiple=True, help="DNS name or IP address; may be repeated.")
@click.option("--days", type=click.IntRange(1, 90), default=90, help="Life of the certificate.")
@click.option("--client", is_flag=True, help="For who asks (kube-scheduler), not who serves.")
@click.option("--renew", is_flag=True, help="Replace certificates that are still good.")
def create(out: Path, hosts: tuple[str, ...], days: int, *, client: bool, renew: bool) -> None:
    """Write ca.crt, ca.key, tls.crt and tls.key; keep what is there while it is good."""
    now = _now()
    hosts = hosts or DEFAULT_HOSTS
    purpose = Purpose.CLIENT if client else Purpose.SERVER
    if not renew and not store.problems(out, hosts, now, purpose):
        until = store.certificate(out).not_valid_after_utc
        click.echo(f"{out}: kept, the certificates are valid until {until:{store.TIME}}")
        return
    try:
        leaf = store.create(out, hosts, now, timedelta(days=days), purpose)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{out}: {error}") from error
    until = leaf.certificate.not_valid_after_utc
    click.echo(f"{out}: wrote ca.crt, ca.key, tls.crt, tls.key; valid until {until:{store.TIME}}")
    click.echo(f"hosts: {', '.join(hosts)}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def show(folder: Path) -> None:
    """Print what the folder's certificate is for; exit status 1 if it cannot serve now."""
    now = _now()
    found = store.problems(folder, (), now)
    try:
        leaf = store.certificate(folder)
        click.echo(f"hosts: {', '.join(authority.hosts(leaf))}")
        click.echo(f"valid from: {leaf.not_valid_before_utc:{store.TIME}}")
        click.echo(f"valid until: {leaf.not_valid_after_utc:{store.TIME}}")
        click.echo(f"sha256: {leaf.fingerprint(hashes.SHA256()).hex()}")
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{folder}: {error}") from error
    if found:
        raise click.ClickException("; ".join(found))


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the program is where the time comes from
