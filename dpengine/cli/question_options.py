"""Read a question from a command line: from a file, or from options about the columns of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpengine.errors import PlanError
from dpengine.spec import strict_yaml
from dpengine.spec.domain import Amount, Column, Number
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Plan
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance
from dpengine.translation.catalogue import some_of

__all__ = ["QuestionOptions", "question_of"]

NOT_HERE = "the question stands in the file; only a plan takes options for what to ask"
NO_PRICE = "say with --epsilon what the question may cost: the plan's ε is the price of its tables"


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """The options of a command line that make a question of a plan's columns; None or empty if not given."""

    statistic: str | None
    of: tuple[str, ...]
    level: str | None
    low: str | None
    high: str | None
    step: str | None
    where: tuple[str, ...]
    by: tuple[str, ...]
    epsilon: str | None


def question_of(file: Path, options: QuestionOptions) -> Question:
    """Return the question in `file`, or the one that `options` makes of the plan in it.

    Raises `PlanError` for whatever cannot be understood.
    """
    text = strict_yaml.read(file, "plan")
    content = strict_yaml.mapping(text, "a plan")
    if "statistic" in content:
        if any(getattr(options, name) for name in QuestionOptions.__slots__ if name != "epsilon"):
            raise PlanError(NOT_HERE)
        return Question(**content | ({} if options.epsilon is None else {"epsilon": options.epsilon}))
    plan = Plan.loads(text, folder=file.parent)
    statistic = _statistic(plan, options)
    if options.epsilon is None:
        raise PlanError(NO_PRICE)  # the plan's ε is the price of all its tables, never meant for one question
    return Question(
        dataset=plan.dataset,
        epsilon=options.epsilon,
        statistic=statistic,
        where=read_conditions(plan, options.where),
        by=[_column(plan, name) for name in options.by],
        unit=plan.unit,
        rows_about=plan.rows_about,
    )


def read_conditions(plan: Plan, texts: Sequence[str]) -> tuple[Condition, ...]:
    """Read conditions such as ``region=North`` or ``age=18..64``; several values of a column form one condition.

    >>> region = {"name": "region", "kind": "category", "values": ["North", "South", "West"]}
    >>> age = {"name": "age", "kind": "number", "edges": [0, 18, 65]}
    >>> plan = Plan(dataset="clinic", epsilon="1", columns=[region, age], tables=[["region", "age"]])
    >>> [each.description for each in read_conditions(plan, ["region=North", "age=18..", "region=West"])]
    ['region is North or West', 'age is at least 18']
    """
    labels: dict[str, list[str]] = {}
    for text in texts:
        column, value = _split(plan, text)
        labels.setdefault(column.name, []).append(value)
    return tuple(_condition(plan.column(name), values) for name, values in labels.items())


def _split(plan: Plan, text: str) -> tuple[Column, str]:
    """Return the column that a condition names, and the rest; a name may hold an equals sign itself."""
    for column in sorted(plan.columns, key=lambda column: -len(column.name)):
        if text.startswith(f"{column.name}="):
            return column, text[len(column.name) + 1 :]
    raise PlanError(
        f"the condition {text!r} must be a column of the plan, an equals sign and a value, such as region=North or "
        f"age=18..64; the plan has {some_of(column.name for column in plan.columns)}"
    )


def _condition(column: Column, values: Sequence[str]) -> Condition:
    first, dots, last = values[0].partition("..")
    if len(values) == 1 and dots and isinstance(column, Number | Amount) and values[0] not in column.labels:
        return Condition.between(column.name, first.strip() or None, last.strip() or None)
    return Condition(column=column, labels=values)


def _column(plan: Plan, name: str) -> Column:
    for column in plan.columns:
        if column.name == name:
            return column
    raise PlanError(f"the plan has no column {name!r}; it has {some_of(column.name for column in plan.columns)}")


def _statistic(plan: Plan, options: QuestionOptions) -> Any:
    kind = options.statistic
    if kind is None:
        raise PlanError("say what to ask with --statistic; `ask --help` lists what there is")
    if kind == "proportion":
        return Proportion(of=read_conditions(plan, options.of))
    if kind == "count":
        if options.of:
            raise PlanError("a count is of no column; --where says which rows count")
        return Count()
    if len(options.of) != 1:
        raise PlanError(f"name with --of the one column that the {kind} is of")
    if kind == "mode":
        return Mode(of=_column(plan, options.of[0]))
    grid = _grid(plan, options, options.of[0])
    if kind == "quantile":
        return Quantile(of=grid, level=options.level or "0.5")
    return {"sum": Sum, "mean": Mean, "variance": Variance}[kind](of=grid)


def _grid(plan: Plan, options: QuestionOptions, name: str) -> Grid:
    """Return the grid of a numeric column: bounds and step as asked, else as the plan declares them."""
    column = next((column for column in plan.columns if column.name == name), None)
    given: dict[str, Any] = {"step": 1}
    if isinstance(column, Amount):
        given = {"low": column.low, "high": column.high, "step": column.step}
    elif isinstance(column, Number):
        given["low"], given["high"] = column.edges[0], column.edges[-1]
    if isinstance(column, Number | Amount):
        given |= {"missing_as": column.missing_as, "format": column.format, "affixes": column.affixes}
    given |= {key: value for key in ("low", "high", "step") if (value := getattr(options, key)) is not None}
    if "low" not in given or "high" not in given:
        raise PlanError(f"give public bounds for {name} with --from and --to: the plan declares none")
    return Grid(name=name, **given)
