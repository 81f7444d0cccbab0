"""What is made out of the chart is up to date, and kustomize makes of it what helm does."""

from __future__ import annotations

import charted
import helm
import pytest
import yaml

pytestmark = pytest.mark.go


def test_the_readme_has_every_value() -> None:
    """Its table is made of the comments in values.yaml; write it with tests/support/charted.py."""
    assert charted.readme() == charted.README.read_text()


def test_every_value_is_described() -> None:
    """Each one that is not a section has a comment."""
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    described = [path for path, _, _ in charted._described()]
    assert [] == [one for one in leaves(values) if not any(one.startswith(path) for path in described)]  # fmt: skip


def leaves(values: object, at: str = "") -> list[str]:
    """The paths of the values that are not sections."""
    if not isinstance(values, dict) or not values:
        return [at]
    return [
        path for name, one in values.items() for path in leaves(one, f"{at}.{name}".lstrip("."))
    ]


def test_kustomize_is_what_the_chart_says() -> None:
    """Write it with tests/support/charted.py when the chart or deploy/ has changed."""
    written = {
        path.relative_to(charted.KUSTOMIZE): path.read_text()
        for path in charted.KUSTOMIZE.rglob("*.yaml")
    }
    assert charted.kustomize() == written


@pytest.mark.parametrize("name", charted.OVERLAYS)
def test_an_overlay_builds_what_helm_renders(name: str) -> None:
    """The same objects, to the last field; and the namespace, which Helm makes itself."""
    built = helm.run("build", charted.KUSTOMIZE / "overlays" / name, package=helm.KUSTOMIZE)
    found = [one for one in yaml.safe_load_all(built) if one["kind"] != "Namespace"]
    wanted = charted.objects(charted.OVERLAYS[name])
    assert {charted._key(one): one for one in wanted} == {charted._key(one): one for one in found}
