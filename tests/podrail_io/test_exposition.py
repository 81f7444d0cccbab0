"""The text format, read back by Prometheus's own parser."""

import math

import hypothesis.strategies as st
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from podrail_io import exposition
from podrail_io.exposition import Family, Kind, Sample


@given(st.text(), st.floats(allow_nan=False))
def test_any_label_and_number_read_back(label: str, value: float) -> None:
    """Quotes, backslashes, line ends, infinities."""
    # The format's lines end with \\n alone; the parser splits at no other character.
    family = Family("x", Kind.GAUGE, "Told.", ("device",), (Sample(value, (label,)),))
    (found,) = text_string_to_metric_families(exposition.text([family]))
    (sample,) = found.samples
    assert ({"device": label}, value) == (sample.labels, sample.value)


def test_families_follow_one_another() -> None:
    """With and without labels, with and without samples."""
    families = [
        Family("a_total", Kind.COUNTER, "One.", (), (Sample(3),)),
        Family("b", Kind.GAUGE, "None.", ("x",), ()),
        Family("c", Kind.GAUGE, "Two.", ("x", "y"), (Sample(math.inf, ("1", "2")),)),
    ]
    expected = (
        "# HELP a_total One.\n# TYPE a_total counter\na_total 3.0\n"
        "# HELP b None.\n# TYPE b gauge\n"
        '# HELP c Two.\n# TYPE c gauge\nc{x="1",y="2"} +Inf\n'
    )
    assert expected == exposition.text(families)
