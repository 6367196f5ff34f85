"""The page of a plan: self-contained, escaped, the answer and its doubt, in every state of a plan."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bokeh.models import HoverTool
from bokeh.models.annotations import BoxAnnotation
from bokeh.models.glyphs import Line, Scatter

from tidegate.planner.averaging import average
from tidegate.planner.explorer import Exploration, Probe
from tidegate.planner.laws import LAWS
from tidegate.planner.measurement import Measurement
from tidegate.planner.plan import Plan, plan
from tidegate.planner.space import Space
from tidegate.planner.spark_configuration.configuration import SparkConfiguration, configure
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.flags import submit_flags
from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.planner.tasks import Tasks
from tidegate.report.plan import Conditions, CostRow, PlanPage, Spread, render
from tidegate.report.plan.charts import chart, law_looks, legend, measured_text
from tidegate.report.plan.curve import Point, curve
from tidegate.report.plan.facts import explanation, facts, figures, headline

EVIL = "</script><script>alert(1)</script>"
ESCAPED = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
MEASURED = tuple(Probe(s, 512, 1000.0 * s, 5.0, low=980.0 * s, high=1020.0 * s) for s in (1, 2, 4, 8, 16, 32))
RUN = RunFigures(
    rate=3e4,
    executors=32,
    cores=1,
    stages=(
        StageFigures(tasks=64, each=4e-4, per_task=0.05),
        StageFigures(tasks=64, each=2e-4, per_task=0.05, skew=Skew(partitions=10, largest=0.15)),
    ),
    trigger=5.0,
    batch_seconds=4.0,
    batch_records=1.5e5,
    keyed=1,
    fixed=0.9,
)


def shown(
    rate: float = 200_000.0, probes: Sequence[Probe] = MEASURED, tasks: Tasks | None = None, **more: Any
) -> PlanPage:
    """The page of a plan from the rates of the probes; `more` are fields of it."""
    capacity = average([Measurement(p.slots, p.memory, p.rate) for p in probes if p.rate is not None], tasks)
    exploration = Exploration(Space.of([p.slots for p in probes], [512]), probes=tuple(probes))
    conditions = Conditions("1 to 32 executors", trigger=5.0, quota=0.3)
    answer = plan(capacity, rate)
    return replace(PlanPage("q5", conditions, exploration, capacity, answer), **more)


def configured(page: PlanPage, **needed: Any) -> PlanPage:
    assert isinstance(page.answer, Plan)
    wanted = Requirement(page.answer.rate, page.answer.slots, page.answer.capacity.low, **needed)
    return replace(page, configuration=configure(RUN, wanted), run=RUN)


def own(document: str) -> str:
    """The document without scripts."""
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


def rows(document: str, name: str) -> list[list[str]]:
    """The cells of a table, as texts."""
    table = re.search(rf'aria-label="{name}"><table>.*?<tbody>(.*?)</tbody>', document, flags=re.DOTALL)
    assert table is not None
    return [
        [" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", row)]
        for row in re.findall(r"<tr.*?</tr>", table.group(1), flags=re.DOTALL)
    ]


def headings(document: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", own(document))


@pytest.fixture(scope="module")
def page() -> PlanPage:
    costs = (
        CostRow("static", Spread(195, 201, 207), Spread(7117.5, 7336.5, 7555.5)),
        CostRow("autoscaled", Spread(90, 100, None)),
    )
    return configured(
        shown(
            needs=("the peak needs 240 executors",),
            validation="the run with 64 slots reached 64 k records/s",
            trial="424 partitions as planned",
            next_run="one more run at 16 slots would do",
            costs=costs,
        ),
        least_rate=50_000.0,
    )


@pytest.fixture(scope="module")
def document(page: PlanPage) -> str:
    return render(page)


def test_it_fetches_nothing(document: str) -> None:
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own(document))
    assert not re.search(r"<script[^>]*\ssrc", document)
    assert "Content-Security-Policy\" content=\"default-src 'none';" in document


def test_the_answer_is_a_sentence_with_its_doubt(document: str) -> None:
    # of `plan`'s own example: 212 slots, 195 to 207 of them needed
    assert '<p class="answer">200 k records/s: 212 executors (195 to 207 needed)</p>' in document
    assert "the rate needs 195 to 207. The plan holds it with 97.5 %: 212 executors sustain 205 to 218 k" in document
    assert '<span class="badge good">planned</span>' in document
    assert '<p class="notice' not in document


def test_every_part_is_there(document: str) -> None:
    assert headings(document) == [
        "Capacity by slots",
        "Laws",
        "What limits it",
        "Configuration",
        "What it costs",
        "Measurements",
    ]
    assert document.count("data-root-id") == 1
    texts = re.findall(r"<li>(.*?)</li>", own(document))
    assert texts[:4] == [
        "The peak needs 240 executors.",
        "The run with 64 slots reached 64 k records/s.",
        "424 partitions as planned.",
        "One more run at 16 slots would do.",
    ]


def test_the_conditions(page: PlanPage) -> None:
    assert [(fact.label, fact.value, fact.note) for fact in facts(page)] == [
        ("Testbed", "1 to 32 executors", ""),
        ("Cores", "1 an executor", ""),
        ("CPU quota", "0.3 cores", "an executor"),
        ("Trigger", "5 s", ""),
        ("Memory", "512 MiB", "heap of an executor"),
        ("Measurements", "6", ""),
        ("Time on the testbed", "30 min", ""),  # six of five
    ]
    bare = replace(page, conditions=Conditions("1 to 32 executors", minutes=41.0, simulated=True))
    assert [(fact.value, fact.note) for fact in facts(bare)] == [
        ("1 to 32 executors", "simulated"),
        ("1 an executor", ""),
        ("512 MiB", "heap of an executor"),
        ("6", ""),
        ("41 min", ""),
    ]


def test_the_configuration_can_be_copied(page: PlanPage, document: str) -> None:
    assert isinstance(page.configuration, SparkConfiguration)
    blocks = re.findall(r'<pre id="block\d"[^>]*><code>(.*?)</code></pre>', document, flags=re.DOTALL)
    flags = " \\\n  ".join(submit_flags(page.configuration))
    assert blocks[0] == f"spark-submit \\\n  {flags}"
    assert blocks[1].startswith(
        ".trigger(processingTime=&#39;5 seconds&#39;)\n.option(&#34;maxOffsetsPerTrigger&#34;, "
    )
    # a quarter of 212 for a quarter of the rate, and by default double for the peak
    assert blocks[2] == "tidegate.attach(query, min_executors=53, max_executors=424)"
    assert re.findall(r'data-copy="(.*?)"', own(document)) == ["block1", "block2", "block3"]
    # the blocks scroll, so they are reached with the keyboard and have a name
    assert document.count('tabindex="0" aria-label="Start" role="region"') == 1


def test_what_limits_it_and_the_slowest_task(document: str) -> None:
    assert (
        "The slowest of 10 tasks had 1.5 times the mean of the records, and with 424 it is expected to have 1.5 times."
        in document
    )
    assert rows(document, "Stages of the run") == [
        ["1", "64", "400 µs", "0.05 s", "—"],
        ["2", "64", "200 µs", "0.05 s", "1.5 times the mean"],
    ]
    assert "every 5 s a batch of 150 k records, which took 4 s, 0.9 s of them without records." in document


def test_costs_have_bounds_where_they_are_known(document: str) -> None:
    assert rows(document, "Costs") == [
        ["static", "201 195 to 207", "7,336.50 7,117.50 to 7,555.50"],
        ["autoscaled", "100 90 or more", "—"],
    ]


def test_laws_have_weights_and_what_each_would_need(document: str) -> None:
    ((law, weight, needed, meaning),) = rows(document, "Laws and their weights")
    # the rates are proportional: 1000 records/s for each slot
    assert (law, weight, needed, meaning) == ("proportional", "93.1 %", "201", "twice the slots, twice the rate")
    assert "Others (stragglers, linear, usl, skew, power, square root, logarithm) have 6.9 % in all." in document


def test_the_curve_is_there_as_numbers_too(document: str) -> None:
    numbers = rows(document, "Capacity by slots")
    # six measurements, the plan, and the end of the chart: 1.25 * 212
    assert [row[0] for row in numbers] == ["1", "2", "4", "8", "16", "32", "212", "265"]
    assert numbers[3][4] == "8 k/s"
    assert numbers[6][1:] == ["205 k/s", "212 k/s", "218 k/s", "—"]


def test_each_probe_is_a_row_with_its_end() -> None:
    probes = (
        Probe(1, 512, 1000.0, 5.0, low=980.0, high=1020.0, ending="it is precise", limit="the query"),
        Probe(2, 512, 1900.0, 4.5, ending="the driver was the limit, not the executors", limit="the driver"),
        Probe(4, 512, None, 1.0, failure=f"out of memory {EVIL}"),
        Probe(8, 512, 8100.0),
    )
    document = render(shown(20_000.0, probes))
    assert rows(document, "Measurements") == [
        ["1", "512 MiB", "1 k/s", "980 to 1.02 k", "5:00", "Limited by the query; it is precise."],
        ["2", "512 MiB", "1.9 k/s", "—", "4:30", "The driver was the limit, not the executors."],
        ["4", "512 MiB", "—", "—", "1:00", f"Out of memory {ESCAPED}."],
        ["8", "512 MiB", "8.1 k/s", "—", "—", "—"],
    ]
    assert "In 1 of 3 measurements the driver was the limit." in document
    assert document.count('<tr class="failed">') == 1


def test_every_text_is_escaped() -> None:
    names = {law.name: f"{law.name} {EVIL}@low{{x}}" for law in LAWS}
    capacity = average(
        [Measurement(p.slots, 512, p.rate or 0.0) for p in MEASURED],
        laws=[replace(law, name=names[law.name]) for law in LAWS],
    )
    page = shown(
        job=f"job {EVIL}",
        conditions=Conditions(f"testbed {EVIL}"),
        capacity=capacity,
        configuration=NoConfiguration(1.0, f"reason {EVIL}"),
        needs=(f"Need {EVIL}",),
        validation=f"Validation {EVIL}",
        trial=f"Trial {EVIL}",
        next_run=f"Next {EVIL}",
        costs=(CostRow(f"cost {EVIL}", Spread(1, 2, 3)),),
    )
    document = render(page)
    assert "<script>alert" not in document
    assert f"<h1>job {ESCAPED}</h1>" in document
    assert f"<title>job {ESCAPED}" in document
    texts = ("testbed", "reason", "Need", "Validation", "Trial", "Next", "cost", "proportional")
    assert [text for text in texts if f"{text} {ESCAPED}" not in own(document)] == []
    # neither a column nor a format of Bokeh's in the tooltip
    (tool,) = chart(page, curve(page)).select(HoverTool)
    assert "@low{x}" not in tool.tooltips
    assert "&#64;low&#123;x}" in tool.tooltips


def test_a_target_too_far_is_refused_with_what_there_is_a_plan_for() -> None:
    page = shown(5e6)
    document = own(render(page))
    assert '<p class="answer">5 M records/s: no plan</p>' in document
    assert '<span class="badge bad">refused</span>' in document
    assert "5 M records/s need more slots than can be predicted: measurements with up to 32 slots" in document
    # the lower bound of 32 * 32 slots
    assert "The highest rate that there is a plan for is 953 k records/s, with 1,024 slots." in document
    assert [(fact.label, fact.value) for fact in figures(page)[:4]] == [
        ("Slots needed", "—"),
        ("Highest with a plan", "953 k/s"),
        ("Measured", "32 slots"),
        ("Supported", "1,024 slots"),
    ]


def test_too_few_partitions_are_refused_with_how_many_it_takes() -> None:
    page = shown(200_000.0, tasks=Tasks(96))
    assert "200 k records/s need at least 212 partitions" in render(page)
    assert [(f.label, f.value, f.note) for f in figures(page)][1] == ("Partitions needed", "212", "instead of 96")


def test_measurements_that_contradict_each_other_support_nothing() -> None:
    page = shown(5000.0, [Probe(s, 512, r) for s, r in ((2, 1000.0), (2, 4000.0), (4, 1500.0), (4, 6000.0))])
    assert explanation(page) == "No rate has a plan."
    assert [(f.value, f.note) for f in figures(page)][1] == ("—", "there is none")
    assert "support no prediction" in render(page)


def test_a_single_measurement_is_drawn_with_all_laws() -> None:
    page = shown(12_000.0, [Probe(4, 512, 4000.0)])
    document = render(page)
    assert "A single measurement says nothing of growth" in document
    assert len(rows(document, "Laws and their weights")) == 8
    assert "Others (" not in document


def test_without_a_configuration_there_are_no_blocks() -> None:
    document = render(shown())
    assert headings(document) == ["Capacity by slots", "Laws", "Measurements"]
    assert "data-copy" not in own(document)
    refused = render(shown(configuration=NoConfiguration(2e5, "one key has 50 % of all records", 1e5), run=RUN))
    assert '<span class="badge bad">no configuration</span>' in refused
    assert "No configuration of Spark: one key has 50 % of all records." in refused
    assert "data-copy" not in own(refused)
    # what the run showed of the slowest task is there all the same
    assert "The slowest of 10 tasks had 1.5 times the mean of the records." in refused


def test_slots_are_counted_in_executors_of_several_cores() -> None:
    page = shown(conditions=Conditions("8 executors", cores=4))
    # 212 / 4, and 195 to 207 in whole executors
    assert headline(page) == "200 k records/s: 53 executors of 4 cores (49 to 52 needed)"
    assert "A slot is a core: an executor has 4." in render(page)


@pytest.mark.parametrize(
    "page",
    [shown(), shown(5e6), shown(tasks=Tasks(96)), shown(3000.0, [Probe(4, 512, 4000.0)])],
    ids=["planned", "refused", "partitions", "single"],
)
def test_cards_fill_whole_rows_of_two_three_and_six(page: PlanPage) -> None:
    assert len(figures(page)) == 6


def test_points_that_the_curve_is_not_for_are_hollow() -> None:
    probes = (*MEASURED, Probe(8, 512, 2000.0), Probe(4, 256, 3900.0))
    page = shown(50_000.0, probes)
    drawn = curve(page)
    assert [(p.slots, p.memory, p.rate) for p in drawn.points if not p.used] == [(8, 512, 2000.0), (4, 256, 3900.0)]
    assert [entry.name for entry in legend(page, drawn)][:2] == [
        "measured, with 90 % interval",
        "other memory, or left out",
    ]
    assert rows(render(page), "Measurements")[6][5] == "Left out, as it contradicts all others."


def test_what_was_measured_beyond_the_exploration_is_drawn_too() -> None:
    page = shown()
    more = replace(page, capacity=page.capacity.with_measurement(Measurement(64, 512, 64_000.0)))
    assert curve(more).points[-1] == Point(64, 64_000.0, 64_000.0, 64_000.0, 512, used=True)


def test_axes_are_logarithmic_only_where_the_target_is_far() -> None:
    near, far = shown(40_000.0), shown()
    assert not curve(near).far
    assert curve(far).far
    assert type(chart(far, curve(far)).x_scale).__name__ == "LogScale"
    assert type(chart(near, curve(near)).x_scale).__name__ == "LinearScale"


def test_a_staircase_has_both_sides_of_its_steps() -> None:
    page = shown(60_000.0, tasks=Tasks(96))
    drawn = curve(page)
    # 96 partitions in two waves on 48 slots, in three on fewer
    assert {47, 48} <= set(drawn.slots)
    assert drawn.at(47).median < 0.8 * drawn.at(48).median


def shaded(page: PlanPage) -> list[float]:
    """From where on; the box of the zoom is not in the middle of the chart."""
    return [part.left for part in chart(page, curve(page)).center if isinstance(part, BoxAnnotation)]


def test_slots_beyond_the_plans_are_shaded() -> None:
    far = shown(12_000.0, [Probe(4, 512, 4000.0)])
    assert shaded(far) == [far.answer.reach] == [4]
    near = shown()
    # up to 1024 slots, and the chart ends at 265
    assert shaded(near) == []


def test_the_plan_is_marked_where_its_slots_meet_the_rate() -> None:
    page = shown()
    marks = [r for r in chart(page, curve(page)).renderers if isinstance(r.glyph, Scatter)]
    planned = next(r.data_source.data for r in marks if r.glyph.marker == "diamond")
    assert (planned["x"], planned["y"]) == ([212], [200_000.0])


def test_a_tooltip_is_on_the_median_and_names_measurements() -> None:
    page = shown(20_000.0, [*MEASURED, *(Probe(2, 512, 2000.0 + k) for k in range(5))])
    drawn = curve(page)
    (tool,) = chart(page, drawn).select(HoverTool)
    assert isinstance(tool.renderers[0].glyph, Line)
    assert measured_text(drawn, 4) == "measured 4 k/s (3.92 to 4.08 k)"
    # six in all
    assert measured_text(drawn, 2).endswith("\nand 1 more")


def test_laws_have_looks_that_differ() -> None:
    looks = law_looks(shown().capacity)
    assert len(looks) == len({law.name for law in LAWS}) == len(set(looks.values()))


def test_the_largest_number_of_slots_with_a_plan_is_among_the_numbers() -> None:
    page = shown(40_000.0, [Probe(4, 512, 4000.0), Probe(8, 512, 8000.0)])
    drawn = curve(page)
    assert 8 <= page.answer.reach < drawn.slots[-1]
    assert page.answer.reach in drawn.slots


def test_a_long_failure_is_cut() -> None:
    document = render(shown(20_000.0, [*MEASURED, Probe(3, 512, None, 1.0, failure="x" * 5000)]))
    assert f"X{'x' * 399}…" in document
