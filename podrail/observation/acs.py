"""Whether a bridge's Access Control Services send traffic between devices up to the CPU.

PCI Express 6.0, 7.7.11: extended capability 0x000D, its control register at 6. Beyond 64 bytes the
kernel shows a configuration space to root with CAP_SYS_ADMIN only; what is cut off is unknown.
"""

from typing import Final

_FIRST: Final = 0x100
_ACS: Final = 0x000D
_CONTROL: Final = 6
_REDIRECT: Final = 0b1100
"""P2P Request Redirect and P2P Completion Redirect."""
_MOST: Final = 48


def redirects(config: bytes) -> bool | None:
    """True or False as the capability says; None if the space is cut off before it would tell."""
    at = _FIRST
    for _ in range(_MOST):
        if len(config) < at + 8:
            return None
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            control = int.from_bytes(config[at + _CONTROL : at + _CONTROL + 2], "little")
            return bool(control & _REDIRECT)
        at = header >> 20
        if at < _FIRST:
            return False
    return None


def lost(config: bytes) -> bool:
    """True if a device no longer answers: all ones in place of its vendor (Xid 79 and its like)."""
    return config[:2] == b"\xff\xff"
