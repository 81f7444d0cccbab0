"""Stand-in until the demo is written in the next step."""


def run(*, once: bool, as_json: bool) -> None:
    """Not here yet."""
    raise ValueError(f"the demo is not here yet ({once}, {as_json})")
