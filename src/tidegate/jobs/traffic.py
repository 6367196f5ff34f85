"""Traffic monitoring (Daedalus): positions of vehicles as JSON, and the average speed of each in windows of 10 s.

`rate` vehicles are on the road at any time and report once per second of event time. A vehicle drives one route of the
library; after that its slot is taken by another vehicle, with another plate and the next route. In Daedalus all
positions are inside the radius of the filter; this grid is larger than the radius, so that the filter does some work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import ascii_uppercase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core import InvalidInput
from tidegate.jobs.city import CENTRE, ROUTES, library
from tidegate.jobs.definition import Job
from tidegate.jobs.draws import START, Draws
from tidegate.jobs.skew import Skew, refuse_skew

#: start of event time, ms
BASE_TIME = START * 1000
#: radius of the filter, and of the earth, m
RADIUS = 1000.0
EARTH = 6_371_000.0
#: size of a zone in degrees (about 445 m by 271 m), and zones on each side of the centre
ZONE, ZONES = 0.004, 6


@dataclass(frozen=True, slots=True)
class Traffic:
    seed: int = 0
    rate: float = 10_000.0
    skew: Skew = Skew.default
    schema: str = "lp string, pt struct<lt:double,lg:double>, ts bigint"
    text: bool = True

    def __post_init__(self) -> None:
        if not self.rate >= 1:
            raise InvalidInput(f"events traffic: need an event rate >= 1 records/s, got {self.rate}")
        refuse_skew("traffic", self.skew)

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """
        >>> Traffic().make(np.arange(1))["value"][0].as_py()[:24]
        '{"lp":"AAAA 0000","pt":{'
        """
        vehicles, routes = int(self.rate), library()
        tick, slot = np.divmod(records, vehicles)
        lap, position = np.divmod(tick + Draws(slot, self.seed).below(0, routes.length), routes.length)
        route = np.searchsorted(routes.starts, position, "right") - 1
        plate = (lap * ROUTES + route) * vehicles + slot
        parts = (
            '{"lp":"',
            *(_pairs().take(pa.array(plate // size % 676)) for size in (676 * 10_000, 10_000)),
            _digits().take(pa.array(plate % 10_000)),
            routes.text.take(pa.array(position)),
            ',"ts":',
            pc.cast(pa.array(BASE_TIME + 1000 * tick), pa.string()),
            "}",
        )
        return pa.RecordBatch.from_pydict({"value": pc.binary_join_element_wise(*parts, "")})


@cache
def _pairs() -> pa.Array:
    return pa.array([first + second for first in ascii_uppercase for second in ascii_uppercase])


@cache
def _digits() -> pa.Array:
    return pa.array([f' {k:04}",' for k in range(10_000)])


def zones(spark: SparkSession) -> DataFrame:
    """Zones of the city with their speed limits: 30 km/h around the centre, 50 km/h elsewhere."""
    cells = range(-ZONES, ZONES)
    rows = [
        (x, y, f"zone {x + ZONES:02}-{y + ZONES:02}", 30 if max(abs(x), abs(y)) < 2 else 50)
        for x in cells
        for y in cells
    ]
    return spark.createDataFrame(rows, "x int, y int, zone string, speed_limit int")


def distance(a: tuple[Column, Column], b: tuple[Column, Column]) -> Column:
    """Metres between two points, given as latitude and longitude in degrees, on a sphere (haversine)."""
    (lat1, lon1), (lat2, lon2) = ((F.radians(lat), F.radians(lon)) for lat, lon in (a, b))
    h = F.pow(F.sin((lat2 - lat1) / 2), 2) + F.cos(lat1) * F.cos(lat2) * F.pow(F.sin((lon2 - lon1) / 2), 2)
    return 2 * EARTH * F.asin(F.sqrt(h))


def _path_length(points: Column) -> Column:
    """Length in metres of the path along an array of points."""

    def leg(k: Column) -> Column:
        a, b = points[k], points[k + 1]
        return distance((a["lt"], a["lg"]), (b["lt"], b["lg"]))

    legs = F.transform(F.sequence(F.lit(0), F.size(points) - 2), leg)
    return F.aggregate(legs, F.lit(0.0), lambda total, metres: total + metres)


def vehicle_speeds(events: DataFrame) -> DataFrame:
    """Average speed (integer km/h) of every vehicle within 1 km of the centre, in 10 s windows that start at second 1;
    append mode.

    State: the positions of each vehicle in open windows; the watermark delay is 1 s. Differences from the papers'
    version: distances are measured on a sphere instead of the WGS84 ellipsoid (0.3 % difference), and enrichment is a
    join of the last position with a table of zones and speed limits instead of text formatting. A single position has
    speed 0.
    """
    near = distance((F.col("pt.lt"), F.col("pt.lg")), (F.lit(CENTRE[0]), F.lit(CENTRE[1]))) <= RADIUS
    nearby = (
        events.where(near).select("lp", "pt", F.timestamp_millis("ts").alias("time")).withWatermark("time", "1 second")
    )
    window = F.window("time", "10 seconds", "10 seconds", "1 second")
    tracks = nearby.groupBy("lp", window).agg(
        F.sort_array(F.collect_list(F.struct("time", "pt.lt", "pt.lg"))).alias("track")
    )
    pairs, last = F.size("track") - 1, F.element_at("track", -1)
    speed = F.when(pairs > 0, _path_length(F.col("track")) / pairs * 3.6).otherwise(0.0).cast("int")
    cell = [
        F.floor((last[name] - F.lit(centre)) / ZONE).cast("int")
        for name, centre in zip(("lg", "lt"), reversed(CENTRE), strict=True)
    ]
    located = tracks.select(
        "lp",
        last["lt"].alias("lt"),
        last["lg"].alias("lg"),
        speed.alias("speed"),
        cell[0].alias("x"),
        cell[1].alias("y"),
        F.col("window.end").alias("end"),
    )
    enriched = located.join(F.broadcast(zones(events.sparkSession)), ["x", "y"], "left")
    return enriched.select(
        "lp", "lt", "lg", "speed", "zone", (F.col("speed") > F.col("speed_limit")).alias("speeding"), "end"
    )


JOB = Job(
    "traffic",
    "Traffic monitoring: average speed per vehicle in 10 s (JSON, radius filter)",
    "traffic",
    vehicle_speeds,
    closed_by="end",
)
