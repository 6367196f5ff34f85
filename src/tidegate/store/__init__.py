"""Runs in one SQLite file (WAL), which stays small: one process writes a run while others can read it.

`Store` is what writes and reads; `inspect`, `set_aside` and `trouble` are for those who must go on without it when the
file is locked, full, damaged or gone. `Retention` says how long what is kept.
"""

from tidegate.store.database import Store, StoreSink
from tidegate.store.files import Found, inspect, set_aside
from tidegate.store.owner import Owner
from tidegate.store.retention import Retention
from tidegate.store.run import Run
from tidegate.store.schema import MIGRATIONS
from tidegate.store.tick_json import observation, steps
from tidegate.store.troubles import Trouble, Unusable, is_damage, is_locked, trouble

__all__ = [
    "MIGRATIONS",
    "Found",
    "Owner",
    "Retention",
    "Run",
    "Store",
    "StoreSink",
    "Trouble",
    "Unusable",
    "inspect",
    "is_damage",
    "is_locked",
    "observation",
    "set_aside",
    "steps",
    "trouble",
]
