"""A model city: a grid of streets around a centre, and a library of routes with one position per second.

The routes are fixed, so that the position of a vehicle at any second is a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.jobs.draws import Draws

#: latitude and longitude in degrees; the centre used by Daedalus
CENTRE = (52.51623, 13.38532)
#: metres between crossings, and crossings between the centre and the edge
BLOCK, REACH = 150.0, 8
METRES_PER_DEGREE = 111_195.0
ROUTES, EDGES = 200, 12
#: km/h
SLOWEST, FASTEST = 10, 80
Floats = npt.NDArray[np.float64]
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


@dataclass(frozen=True, slots=True)
class Library:
    """All routes, concatenated. `starts[r]` is the index of route *r*'s first position; the last item is the end."""

    starts: npt.NDArray[np.int64]
    latitude: Floats
    longitude: Floats
    #: each position as a fragment of an event's JSON
    text: pa.Array

    @property
    def length(self) -> int:
        return int(self.starts[-1])


@cache
def library() -> Library:
    """
    >>> library().length == len(library().latitude), len(library().starts)
    (True, 201)
    """
    routes = [_route(r) for r in range(ROUTES)]
    starts = np.concatenate([[0], np.cumsum([len(route) for route in routes])])
    east, north = np.concatenate(routes).T
    latitude = np.round(CENTRE[0] + north / METRES_PER_DEGREE, 6)
    longitude = np.round(CENTRE[1] + east / METRES_PER_DEGREE / np.cos(np.radians(CENTRE[0])), 6)
    text = [f'"pt":{{"lt":{a:.6f},"lg":{b:.6f}}}' for a, b in zip(latitude, longitude, strict=True)]
    return Library(starts, latitude, longitude, pa.array(text))


def _route(number: int) -> Floats:
    """Positions per second, in metres east and north of the centre. Each edge has a random speed."""
    draws = Draws(np.arange(EDGES + 1), 1000 + number)
    crossing = draws.below(0, 2 * REACH + 1)[:2] - REACH
    positions = []
    for turn, speed in zip(draws.below(1, 4), SLOWEST + draws.below(2, FASTEST - SLOWEST), strict=True):
        target = crossing + STEPS[turn]
        target = np.where(np.abs(target) > REACH, crossing - STEPS[turn], target)  # turn back at the edge
        metres = np.arange(0.0, BLOCK, speed / 3.6)
        positions.append(BLOCK * crossing + metres[:, None] * (target - crossing))
        crossing = target
    return np.concatenate(positions)
