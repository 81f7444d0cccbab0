"""The statistics of a network interface, as `ethtool -S` shows them (linux/ethtool.h).

No privilege is needed, but the interface must be in this process's network namespace.
"""

import array
import fcntl
import socket
import struct
from collections.abc import Mapping
from typing import Final

_SIOCETHTOOL: Final = 0x8946
_DRIVER_INFORMATION: Final = 0x3
_STRINGS: Final = 0x1B
_STATISTICS: Final = 0x1D
_SET_OF_STATISTICS: Final = 1
_NAME_BYTES: Final = 32
_REST_BYTES: Final = 192
"""Of struct ethtool_drvinfo behind its command."""
_COUNT_AT: Final = 180
"""Where struct ethtool_drvinfo has n_stats: after its command, texts of five times 32 and of 12
bytes, and n_priv_flags."""
MOST: Final = 20_000


def statistics(interface: str) -> Mapping[str, int]:
    """The counters by name; empty if there are none, or no such interface here."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            information = _asked(
                sock, interface, struct.pack("I", _DRIVER_INFORMATION), _REST_BYTES
            )
            (count,) = struct.unpack_from("I", information, _COUNT_AT)
            if not 0 < count <= MOST:
                return {}
            head = struct.pack("III", _STRINGS, _SET_OF_STATISTICS, count)
            names = _asked(sock, interface, head, count * _NAME_BYTES)
            values = _asked(sock, interface, struct.pack("II", _STATISTICS, count), count * 8)
    except OSError:
        return {}
    texts = (_text(names[at : at + _NAME_BYTES]) for at in range(12, len(names), _NAME_BYTES))
    return dict(zip(texts, struct.unpack_from(f"{count}Q", values, 8), strict=True))


def _text(name: bytes) -> str:
    return name.partition(b"\0")[0].decode(errors="replace")


def _asked(sock: socket.socket, interface: str, head: bytes, more: int) -> bytes:
    """What the kernel writes over a request that is followed by so many bytes."""
    buffer = array.array("B", head + bytes(more))
    address, _ = buffer.buffer_info()
    request = struct.pack("16sP", interface.encode()[:15], address)
    fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)
    return buffer.tobytes()
