"""Code in the pages about policies does what they say."""

import re
from pathlib import Path
from typing import Any

from tidegate.core import Limits, Observation
from tidegate.presets import Preset

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def defined(page: str, name: str) -> Any:
    """What a page's own code defines under a name."""
    code = next(block for block in blocks(page) if f"class {name}" in block)
    space: dict[str, Any] = {"__name__": "mypackage"}
    exec(compile(code, page, "exec", dont_inherit=True), space)
    return space[name]


def test_the_policy_of_one_s_own_works_as_a_preset() -> None:
    preset = Preset("per rate", "the page", defined("policies.md", "PerRate"))
    scaler = preset.make("per-rate", Limits(1, 8), {"each": 20_000.0, "pause": "in"}, {})
    for second in range(60):
        obs = Observation(second, 2, 2, arrival_rate=50_000.0)
        scaler.observe(obs)
    assert scaler.decide(Observation(60, 2, 2, processing_rate=1.0))[-1].decision.executors == 3  # ceil(50 / 20)
    assert scaler.memory()["policy"]["_rate"]["items"][0] == [0, 50_000.0]


def test_the_forecaster_of_one_s_own_forecasts_with_quantiles() -> None:
    made = defined("forecasts.md", "Highest")()
    for value in (5.0, 9.0, 7.0):
        made.update(value)
    forecast = made.forecast(2)
    assert forecast.mean == (9.0, 9.0)
    assert set(forecast.quantiles) >= {0.5, 0.9}
