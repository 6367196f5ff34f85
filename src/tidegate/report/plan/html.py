"""The page of a plan as one HTML file."""

from __future__ import annotations

from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.limiting_factor import Limit, LimitingFactor
from tidegate.report.document import document, embedded
from tidegate.report.parts import Badge
from tidegate.report.plan import blocks, tables
from tidegate.report.plan.charts import chart, legend
from tidegate.report.plan.curve import curve
from tidegate.report.plan.facts import badges, explanation, facts, figures, headline, notices
from tidegate.report.plan.page import PlanPage
from tidegate.report.plan.wording import plural, sentence, sentences
from tidegate.units import count, seconds


def render(shown: PlanPage) -> str:
    drawn = curve(shown)
    script, plots = embedded({"capacity": chart(shown, drawn)})
    planned = shown.configuration if isinstance(shown.configuration, SparkConfiguration) else None
    return document(
        "plan.html",
        shown.job,
        draws=True,
        script=script,
        badges=badges(shown),
        headline=headline(shown),
        explanation=explanation(shown),
        notices=notices(shown),
        needs=sentences(tuple(shown.needs)),
        facts=facts(shown),
        figures=figures(shown),
        capacity=plots["capacity"],
        legend=legend(shown, drawn),
        far=drawn.far,
        cores=shown.conditions.cores,
        numbers=tables.numbers(shown, drawn),
        laws=tables.laws(shown),
        others=tables.others(shown),
        rate=count(shown.answer.rate),
        sure=sentences((shown.validation, shown.trial, shown.next_run)),
        limits=[(_badge(factor), _text(factor)) for factor in planned.limits] if planned else [],
        limited=tables.limited(shown),
        slowest=_slowest(shown, planned),
        stages=tables.stages(shown),
        of_run=_of_run(shown),
        configuration=blocks.facts(planned) if planned else (),
        blocks=blocks.blocks(planned) if planned else (),
        notes=sentences(planned.notes) if planned else (),
        probes=tables.probes(shown),
        costs=tables.costs(tuple(shown.costs)),
    )


def _badge(factor: LimitingFactor) -> Badge:
    return Badge(factor.limit.value, "good" if factor.limit is Limit.NOTHING else "warn")


def _text(factor: LimitingFactor) -> str:
    """Without the name of the limit, which is in its badge."""
    return sentence(factor.sentence.partition(": ")[2] or factor.sentence)


def _slowest(shown: PlanPage, planned: SparkConfiguration | None) -> str:
    if shown.run is None:
        return ""
    return tables.slowest(shown.run.skew, planned.state.partitions if planned and planned.state else None)


def _of_run(shown: PlanPage) -> str:
    """The run that the stages are of, as a sentence; empty without one."""
    run = shown.run
    if run is None:
        return ""
    fixed = "" if run.fixed is None else f", {seconds(run.fixed)} of them without records"
    return (
        f"From a run with {plural(run.slots, 'slot')} at {count(run.rate)} records/s: every {seconds(run.trigger)} a "
        f"batch of {count(run.batch_records)} records, which took {seconds(run.batch_seconds)}{fixed}."
    )
