"""The snippets for Argo CD and Flux fit the chart; tests/cluster/test_gitops.py applies what they render.

Neither of the two can run here. Flux's own types read its snippets; Argo CD's need all of Kubernetes.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import checkout
import helm
import pytest
import snippets
import yaml

pytestmark = pytest.mark.go
REGISTRATION = ("MutatingWebhookConfiguration", "podrail")


@pytest.fixture(scope="module")
def registration() -> helm.Document:
    """The webhook's registration as the chart renders it."""
    return helm.named(helm.rendered(snippets.release()["values"]), *REGISTRATION)


def bundles(registration: helm.Document) -> set[str]:
    """Where podrail-certs writes a caBundle: in each entry, beside the Service."""
    count = len(registration["webhooks"])
    return {f"/webhooks/{index}/clientConfig/caBundle" for index in range(count)}


@pytest.mark.parametrize("kind", ["OCIRepository", "HelmRelease"])
def test_flux_knows_every_field(kind: str) -> None:
    """Its own types take the document strictly."""
    assert "" == snippets.unknown(snippets.documents(snippets.FLUX)[kind])


def test_a_field_that_flux_does_not_know_is_seen() -> None:
    """The test above can fail, deep in the document, too."""
    wrong = copy.deepcopy(snippets.documents(snippets.FLUX)["HelmRelease"])
    wrong["spec"]["driftDetection"]["ignore"][0]["path"] = []
    assert 'unknown field "path"' in snippets.unknown(wrong)


def test_both_install_the_release_that_users_install() -> None:
    """The same name and namespace, so that a release of Helm's can be taken over."""
    application, release = snippets.application(), snippets.release()
    home = snippets.documents(snippets.FLUX)["HelmRelease"]["metadata"]["namespace"]
    assert (helm.RELEASE, helm.NAMESPACE) == (release["releaseName"], home)
    assert (helm.RELEASE, helm.NAMESPACE) == (
        application["source"]["helm"]["releaseName"],
        application["destination"]["namespace"],
    )
    assert helm.NAMESPACE == snippets.documents(snippets.FLUX)["Namespace"]["metadata"]["name"]


def test_both_name_the_charts_version() -> None:
    """A release changes them with the chart."""
    version = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())["version"]
    repository = snippets.documents(snippets.FLUX)["OCIRepository"]["spec"]
    assert version == repository["ref"]["tag"]
    assert f"v{version}" == snippets.application()["source"]["targetRevision"]
    assert helm.CHART == checkout.ROOT / snippets.application()["source"]["path"]


def test_the_chart_takes_their_values() -> None:
    """The schema is closed: a value that nobody reads is refused."""
    values = snippets.release()["values"]
    assert values == snippets.application()["source"]["helm"]["valuesObject"]
    images = {
        one["image"]
        for pod in helm.pods(helm.rendered(values)).values()
        for one in pod["spec"]["containers"]
    }
    assert any(one.startswith("registry.example.com/podrail:") for one in images)


def test_argo_cd_leaves_the_bundle_of_each_entry_alone(registration: helm.Document) -> None:
    """And nothing else of the registration, whose group, kind and name it gives."""
    (rule,) = snippets.application()["ignoreDifferences"]
    assert (rule["group"], rule["kind"], rule["name"]) == (
        registration["apiVersion"].partition("/")[0],
        *REGISTRATION,
    )
    found = [
        pointer
        for one in rule["jqPathExpressions"]
        for pointer in snippets.pointers(one, registration)
    ]
    assert bundles(registration) == set(found)


def test_flux_leaves_the_bundle_of_each_entry_alone(registration: helm.Document) -> None:
    """By its place, as JSON pointers have no other way: an entry more needs a path more."""
    (rule,) = snippets.release()["driftDetection"]["ignore"]
    assert REGISTRATION == (rule["target"]["kind"], rule["target"]["name"])
    assert bundles(registration) == set(rule["paths"])
    for path in rule["paths"]:
        assert "service" in snippets.resolve(path.rpartition("/")[0], registration)


def test_a_chart_without_its_links_is_refused_in_words(tmp_path: Path) -> None:
    """Flux leaves links out of what it takes from Git, so its snippet takes the packed chart."""

    def links(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if (Path(folder) / name).is_symlink()}

    shutil.copytree(helm.CHART, tmp_path / "podrail", ignore=links)
    flags = ("--namespace", helm.NAMESPACE, "--kube-version", helm.KUBERNETES)
    said = helm.run("template", helm.RELEASE, tmp_path / "podrail", *flags, status=1)
    assert "was the chart packaged without following links?" in said
    assert "OCIRepository" == snippets.release()["chartRef"]["kind"]
