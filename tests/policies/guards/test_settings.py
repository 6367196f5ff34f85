"""The options of the guards, and the chain that they make."""

from typing import Any

import pytest

from tidegate.core import Decision, Guard, InvalidInput, Observation, parameters
from tidegate.policies.guards import (
    Arriving,
    CatchingUp,
    Ceiling,
    Cooldown,
    DeadBand,
    Effect,
    Excluded,
    GuardSettings,
    Late,
    Pause,
    Quota,
    Stabilisation,
    Stalled,
    StepLimit,
    Tolerance,
    Uneven,
)
from tidegate.policies.guards.settings import live_defaults

EVERYTHING = GuardSettings(
    down_window=300, up_window=30, cooldown_up=10, cooldown_down=60, min_change=0.1, dead_band_down=2, dead_band_up=1,
    step_up=4, step_factor=2, step_down=0.5, late=30, catching_up=300, core_quota=64, effect=0.1, effect_hold=900,
    arriving=45, uneven=40, pause="in", excluded="08:00-10:00",
)  # fmt: skip


def test_the_order_of_the_chain() -> None:
    assert EVERYTHING.chain() == (
        Tolerance(0.1),
        DeadBand(down=2, up=1),
        StepLimit(up=4, factor=2, down=0.5),
        Stabilisation(down=300, up=30),
        Arriving(45),
        Uneven(40),
        Stalled(),
        Late(30),
        CatchingUp(300),
        Effect(0.1, hold=900),
        Ceiling(),
        Quota(64),
        Cooldown(up=10, down=60),
        Pause("in"),
        Excluded("08:00-10:00"),
    )


def test_nothing_is_on_but_what_hurts_nobody() -> None:
    assert GuardSettings().chain() == (Arriving(60), Uneven(60), Stalled(), Ceiling())
    assert GuardSettings(arriving=0, uneven=0, ceiling=0, stalled=0).chain() == ()


def test_live_defaults_are_options_that_say_so() -> None:
    described = parameters(GuardSettings)
    assert live_defaults(30) == {"late": 30, "catching-up": 15}
    assert {name: parameter.live for name, parameter in described.items() if parameter.live} == {
        "late": "SLO",
        "catching-up": "SLO / 2",
    }


@pytest.mark.parametrize(
    ("options", "guard"),
    [
        ({"min_change": 0.1}, Tolerance(0.1)),
        ({"dead_band_down": 1}, DeadBand(1, 0)),
        ({"dead_band_up": 1}, DeadBand(0, 1)),
        ({"step_up": 3}, StepLimit(3, 0, 0)),
        ({"step_factor": 3}, StepLimit(0, 3, 0)),
        ({"step_down": 0.5}, StepLimit(0, 0, 0.5)),
        ({"down_window": 30}, Stabilisation(30, 0)),
        ({"up_window": 30}, Stabilisation(0, 30)),
        ({"uneven": 30}, Uneven(30)),
        ({"stalled": 1}, Stalled()),
        ({"late": 30}, Late(30)),
        ({"catching_up": 30}, CatchingUp(30)),
        ({"effect": 0.2}, Effect(0.2, hold=600)),
        ({"core_quota": 8}, Quota(8)),
        ({"cooldown_up": 30}, Cooldown(30, 0)),
        ({"cooldown_down": 30}, Cooldown(0, 30)),
        ({"pause": "in"}, Pause("in")),
        ({"excluded": "08:00-10:00"}, Excluded("08:00-10:00")),
    ],
)
def test_each_option_alone_turns_its_guard_on(options: dict[str, Any], guard: Guard) -> None:
    off = {"arriving": 0, "uneven": 0, "ceiling": 0, "stalled": 0}
    assert GuardSettings(**{**off, **options}).chain() == (guard,)


def test_further_guards_can_neither_break_a_cap_nor_undo_a_stop() -> None:
    names = [guard.name for guard in EVERYTHING.chain([Tolerance(name="mine")])]
    assert names[9:12] == ["effect", "mine", "ceiling"]


def test_chains_share_no_memory() -> None:
    first, second = EVERYTHING.chain(), EVERYTHING.chain()
    first[3].temper(Decision(4, "busy"), Observation(0, 2, 2))
    assert first[3] != second[3]


def test_every_field_describes_itself() -> None:
    described = parameters(GuardSettings)
    assert len(described) == len(GuardSettings.__slots__) == 21
    assert all(parameter.meaning for parameter in described.values())
    assert described["down-window"].rule == "0 <= down-window"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"down_window": -1}, "guards: need 0 <= down-window, got -1"),
        ({"min_change": 1.5}, "guards: need 0 <= min-change <= 1, got 1.5"),
        ({"ceiling": 2}, "guards: need 0 <= ceiling <= 1, got 2"),
        ({"effect_hold": 0}, "guards: need 0 < effect-hold, got 0"),
        ({"step_factor": float("nan")}, "guards: need 0 <= step-factor <= 1000, got nan"),
        ({"pause": "up"}, "guards: need pause to be one of none, in, out, both, got 'up'"),
        ({"excluded": "night"}, "excluded period 'night' is not like 08:00-10:00"),
    ],
)
def test_what_is_out_of_bounds_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        GuardSettings(**options)
