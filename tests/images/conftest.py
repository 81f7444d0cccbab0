"""The image, built and unpacked once, and a containerd that runs it."""

import os
from collections.abc import Iterator
from pathlib import Path

import images
import pytest
from controlplane.binaries import NotRun


@pytest.fixture(name="image", scope="session")
def _image() -> images.Image:
    """The image of this checkout."""
    try:
        return images.built(os.environ)  # noqa: TID251 - children live in our environment
    except NotRun as missing:
        pytest.skip(str(missing))


@pytest.fixture(name="root", scope="session")
def _root(image: images.Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the image for this machine."""
    folder = tmp_path_factory.mktemp("root")
    image.unpack(images.HERE, folder)
    return folder


@pytest.fixture(name="runtime", scope="session")
def _runtime(
    image: images.Image, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[images.Runtime]:
    """A containerd that has the image."""
    runtime = images.Runtime(tmp_path_factory.mktemp("runtime"), image)
    yield runtime
    runtime.stop()
