"""The page that `tidegate plan` leaves in its folder."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.cli.plan_needs import AskedNeeds
from tidegate.cli.plan_run import PlanDone
from tidegate.planner.needs.cost import MonthlyCost, cost_of
from tidegate.planner.needs.day import AutoscaledDay
from tidegate.planner.needs.description import describe_needs
from tidegate.planner.needs.needs import Needs
from tidegate.planner.next_run import Narrowing
from tidegate.planner.plan import Plan
from tidegate.report.plan import Conditions, CostRow, PlanPage, Spread


def page_of(done: PlanDone, needs: Needs, asked: AskedNeeds, further: Narrowing | None) -> PlanPage:
    e, answered = done.request.e, done.answer
    executors = done.request.executors
    span = f"{executors[0]} to {executors[-1]} executors" if len(executors) > 1 else f"{executors[0]} executors"
    # the rate itself is the headline
    sentences = [line.strip() for line in describe_needs(needs, asked.price)][1:]
    return PlanPage(
        e.job,
        Conditions(span, e.cores, e.quota, e.trigger, simulated=e.engine == "sim"),
        done.exploration,
        answered.capacity,
        answered.outcome,
        configuration=answered.configuration,
        run=answered.known.figures,
        needs=[*sentences, *done.omitted],
        validation="; ".join(validation.sentence for validation in answered.known.validations),
        trial=answered.trial.reason if answered.trial else "",
        next_run=further.sentence if further else "",
        costs=[*_rows(needs, asked.price)],
    )


def _rows(needs: Needs, price: float | None) -> Iterator[CostRow]:
    """Of what can be planned; costs if there is a price."""
    named = [("static for the rate", needs.rate)]
    if needs.peak is not None:
        named.append((f"static for the peak of {needs.peak.trace}", needs.peak.answer))
    if needs.recovery is not None:
        named.append(("static, with head-room to recover", needs.recovery.answer))
    for name, answer in named if len(named) > 1 or price else ():
        if isinstance(answer, Plan):
            cost = None if price is None else _spread(cost_of(answer, needs.cores, price))
            yield CostRow(name, Spread(answer.interval.low, answer.slots, answer.interval.high), cost)
    if needs.day is not None:
        yield _day(needs.day, needs.cores, price)


def _day(day: AutoscaledDay, cores: int, price: float | None) -> CostRow:
    low, high = (cores * executors for executors in day.executors)
    cost = None if price is None else _spread(day.cost(price))
    return CostRow(f"autoscaled by {day.policy}", Spread(low, cores * day.scaled.mean, high), cost)


def _spread(cost: MonthlyCost) -> Spread:
    return Spread(cost.low, cost.planned, cost.high)
