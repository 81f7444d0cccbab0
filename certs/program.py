"""podrail-certs: makes a certificate authority and a serving certificate in a folder."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click

from certs import store

DEFAULT_HOSTS: Final = ("podrail-webhook.podrail-system.svc", "localhost", "127.0.0.1", "::1")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Make the certificates that the webhook serves with."""


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--host", "hosts", multiple=True, help="DNS name or IP address; may be repeated.")
@click.option("--days", type=click.IntRange(1, 90), default=90, help="Life of the certificate.")
@click.option("--renew", is_flag=True, help="Replace certificates that are still valid.")
def create(out: Path, hosts: tuple[str, ...], days: int, *, renew: bool) -> None:
    """Write ca.crt, ca.key, tls.crt and tls.key; keep what is there while it is valid."""
    now = datetime.now(UTC)  # noqa: TID251 - the program is where the time comes from
    if not renew and _still_valid(out, now):
        click.echo(f"{out}: certificates are valid until {store.valid_until(out):%Y-%m-%d %H:%M}Z")
        return
    try:
        leaf = store.create(out, hosts or DEFAULT_HOSTS, now, timedelta(days=days))
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{out}: {error}") from error
    until = leaf.certificate.not_valid_after_utc
    click.echo(
        f"{out}: wrote ca.crt, ca.key, tls.crt, tls.key; valid until {until:%Y-%m-%d %H:%M}Z"
    )
    click.echo(f"hosts: {', '.join(hosts or DEFAULT_HOSTS)}")


def _still_valid(folder: Path, now: datetime) -> bool:
    try:
        return store.valid_until(folder) > now
    except (OSError, ValueError):
        return False
