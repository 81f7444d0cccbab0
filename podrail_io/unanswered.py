"""Why a call got no answer, in words to act on (the exceptions of urllib3 2)."""

from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError


def why(error: Exception) -> str:
    """What stood in the way: of a connection also where to, which its own text tells clumsily."""
    if isinstance(error, NewConnectionError):
        cause = error.__cause__
        told = cause.strerror if isinstance(cause, OSError) and cause.strerror else "no such host"
        return f"no connection to {error.conn.host}:{error.conn.port}: {told}"
    if isinstance(error, ConnectTimeoutError):
        return "no connection in time"
    if isinstance(error, ReadTimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}"
