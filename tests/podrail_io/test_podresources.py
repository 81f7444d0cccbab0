"""The PodResources API over real gRPC: grpcio serves, our own client reads."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import kubelet_socket
import pytest
from kubelet_socket import Given, Pod, State

from podrail_io import unary
from podrail_io.podresources import Devices, Holder, PodResources
from podrail_io.unary import CallError, RefusedError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kubelet.sock"


@pytest.fixture
def state(path: Path) -> Iterator[State]:
    """A kubelet with a pod."""
    gpus = Given("nvidia.com/gpu", ("GPU-a", "GPU-b"), (0,))
    more = Given("nvidia.com/gpu", ("GPU-c",), (1,))
    pool = Given("rdma/shared", ("17",))
    with kubelet_socket.serving(path, [Pod("p", (gpus, more, pool))]) as found:
        yield found


def client(path: Path, seconds: float = 5.0) -> PodResources:
    return PodResources(path, time.monotonic, seconds)


@pytest.mark.usefixtures("state")
def test_the_devices_of_a_container_are_one_entry_a_resource(path: Path) -> None:
    """NUMA node 0 is not on the wire; no topology is unknown."""
    gpus = Devices("nvidia.com/gpu", ("GPU-a", "GPU-b", "GPU-c"), (0, 1))
    expected = Holder("team", "p", "train", (gpus, Devices("rdma/shared", ("17",), None)))
    assert (expected,) == client(path).listed()


def test_the_devices_of_claims_are_told_by_driver_and_pool(path: Path, state: State) -> None:
    """As DRA hands them out."""
    state.pods = [Pod("p", claims=(("gpu.nvidia.com", "n1", "gpu-3"),))]
    (found,) = client(path).listed()
    assert (Devices("gpu.nvidia.com", ("n1/gpu-3",)),) == found.devices


def test_what_may_be_handed_out_is_told_where_it_is_served(path: Path, state: State) -> None:
    """An old kubelet does not know the method."""
    state.offered = [Given("nvidia.com/gpu", ("GPU-a",), (0,))]
    assert (Devices("nvidia.com/gpu", ("GPU-a",), (0,)),) == client(path).allocatable()
    state.offered = None
    assert None is client(path).allocatable()


def test_one_pod_can_be_asked_for(path: Path, state: State) -> None:
    """None where Get is not served; one that is not there is an error."""
    found = client(path).pod("team", "p")
    assert found
    assert "p" == found[0].pod
    with pytest.raises(RefusedError, match="pod not found"):
        client(path).pod("team", "other")
    state.knows_get = False
    assert None is client(path).pod("team", "p")


@pytest.mark.parametrize("padding", [70_000, 3_000_000], ids=["windows", "megabytes"])
def test_a_long_answer_arrives_whole(path: Path, state: State, padding: int) -> None:
    """Longer than the flow control windows that a connection begins with."""
    state.padding = padding
    assert 1 == len(client(path).listed())


def test_an_endless_answer_is_cut(path: Path, state: State) -> None:
    """No kubelet's answer takes the agent's memory."""
    state.padding = unary.MOST_BYTES + 1
    with pytest.raises(CallError, match="longer than"):
        client(path, 20).listed()


def test_no_socket_is_no_answer(path: Path) -> None:
    """The kubelet is restarting."""
    with pytest.raises(CallError, match="FileNotFoundError"):
        client(path).listed()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["deaf", "http"])
def test_a_socket_that_is_no_grpc_is_no_answer(path: Path, said: bytes) -> None:
    """Within the time that the caller gave."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        if said:
            listener.settimeout(5)
        began = time.monotonic()
        if said:
            _answer(listener, path, said)
        else:
            with pytest.raises(CallError, match="imed out"):
                client(path, 0.3).listed()
        assert time.monotonic() - began < 3


def _answer(listener: socket.socket, path: Path, said: bytes) -> None:
    import threading  # noqa: PLC0415 - only here

    def speak() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.sendall(said)

    thread = threading.Thread(target=speak)
    thread.start()
    with pytest.raises(CallError):
        client(path, 1).listed()
    thread.join()
