"""A label selector as Kubernetes has it (meta/v1 LabelSelector)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from podrail.reading import Reader


class Operator(StrEnum):
    """How an expression looks at a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement."""

    key: str
    operator: Operator
    values: frozenset[str]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True if the labels meet the requirement; NotIn holds for an absent label."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        assert_never(self.operator)


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements together; none at all matches everything."""

    expressions: tuple[Expression, ...] = ()

    @classmethod
    def read(cls, part: Reader) -> "Selector":
        """The selector in a document; problems go to the reader."""
        equal = [
            Expression(key, Operator.IN, frozenset({value}))
            for key, value in part.mapping("matchLabels", 32).items()
        ]
        found = [_expression(entry) for entry in part.parts("matchExpressions", 32)]
        part.close()
        return cls((*equal, *found))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True if the labels meet every requirement."""
        return all(expression.matches(labels) for expression in self.expressions)


def _expression(part: Reader) -> Expression:
    part.required("key")
    part.required("operator")
    expression = Expression(
        part.text("key", limit=317),
        part.choice("operator", Operator.EXISTS),
        frozenset(part.texts("values", 64, size=63)),
    )
    if bool(expression.values) != (expression.operator in {Operator.IN, Operator.NOT_IN}):
        part.wrong("values", f"expected values with In and NotIn only, got {expression.operator}")
    part.close()
    return expression
