"""Traffic monitoring (Daedalus): positions of vehicles as JSON text, and the average speed of each in 10 s.

`rate` vehicles are on their way at any time and report once a second of event time. Each drives one route of the
library after another; with a new route it is another vehicle, with another plate. Daedalus' map is a part of Berlin
that lies within the radius of its filter as a whole; this grid reaches beyond it, so that the filter has work to do.
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

#: in milliseconds
BASE_TIME = START * 1000
RADIUS = 1000.0
EARTH = 6_371_000.0
#: zones of so many degrees, about 445 m by 271 m, on each side of the centre
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
        lap, place = np.divmod(tick + Draws(slot, self.seed).below(0, routes.length), routes.length)
        route = np.searchsorted(routes.starts, place, "right") - 1
        plate = (lap * ROUTES + route) * vehicles + slot
        parts = (
            '{"lp":"',
            *(_pairs().take(pa.array(plate // size % 676)) for size in (676 * 10_000, 10_000)),
            _digits().take(pa.array(plate % 10_000)),
            routes.text.take(pa.array(place)),
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
    """The parts of the city with their speed limits: 30 km/h around the centre, 50 further out."""
    cells = range(-ZONES, ZONES)
    rows = [
        (x, y, f"zone {x + ZONES:02}-{y + ZONES:02}", 30 if max(abs(x), abs(y)) < 2 else 50)
        for x in cells
        for y in cells
    ]
    return spark.createDataFrame(rows, "x int, y int, zone string, speed_limit int")


def distance(a: tuple[Column, Column], b: tuple[Column, Column]) -> Column:
    """Metres between two places, latitude and longitude in degrees, on a sphere (haversine)."""
    (lat1, lon1), (lat2, lon2) = ((F.radians(lat), F.radians(lon)) for lat, lon in (a, b))
    h = F.pow(F.sin((lat2 - lat1) / 2), 2) + F.cos(lat1) * F.cos(lat2) * F.pow(F.sin((lon2 - lon1) / 2), 2)
    return 2 * EARTH * F.asin(F.sqrt(h))


def _driven(points: Column) -> Column:
    """Metres along the points of an array, in its order."""

    def leg(k: Column) -> Column:
        a, b = points[k], points[k + 1]
        return distance((a["lt"], a["lg"]), (b["lt"], b["lg"]))

    legs = F.transform(F.sequence(F.lit(0), F.size(points) - 2), leg)
    return F.aggregate(legs, F.lit(0.0), lambda total, metres: total + metres)


def traffic(events: DataFrame) -> DataFrame:
    """Average speed (whole km/h) of every vehicle within 1 km of the centre, per 10 s windows that begin at second 1;
    append.

    State: the positions of each vehicle in the open windows; the watermark trails by 1 s. The papers' version measures
    on the WGS84 ellipsoid, here it is a sphere (0.3 % apart); its enrichment only formats text, here the last
    position is joined with a table of zones and their speed limits. One position alone has speed 0.
    """
    near = distance((F.col("pt.lt"), F.col("pt.lg")), (F.lit(CENTRE[0]), F.lit(CENTRE[1]))) <= RADIUS
    seen = (
        events.where(near).select("lp", "pt", F.timestamp_millis("ts").alias("time")).withWatermark("time", "1 second")
    )
    window = F.window("time", "10 seconds", "10 seconds", "1 second")
    tracks = seen.groupBy("lp", window).agg(
        F.sort_array(F.collect_list(F.struct("time", "pt.lt", "pt.lg"))).alias("track")
    )
    pairs, last = F.size("track") - 1, F.element_at("track", -1)
    speed = F.when(pairs > 0, _driven(F.col("track")) / pairs * 3.6).otherwise(0.0).cast("int")
    where = [
        F.floor((last[name] - F.lit(centre)) / ZONE).cast("int")
        for name, centre in zip(("lg", "lt"), reversed(CENTRE), strict=True)
    ]
    known = tracks.select(
        "lp",
        last["lt"].alias("lt"),
        last["lg"].alias("lg"),
        speed.alias("speed"),
        where[0].alias("x"),
        where[1].alias("y"),
        F.col("window.end").alias("end"),
    )
    enriched = known.join(F.broadcast(zones(events.sparkSession)), ["x", "y"], "left")
    return enriched.select(
        "lp", "lt", "lg", "speed", "zone", (F.col("speed") > F.col("speed_limit")).alias("speeding"), "end"
    )


JOB = Job(
    "traffic",
    "Traffic monitoring: average speed per vehicle in 10 s (JSON, radius filter)",
    "traffic",
    traffic,
    closed_by="end",
)
