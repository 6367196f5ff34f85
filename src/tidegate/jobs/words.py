"""Lines of words drawn by Zipf's law, the input of the word count, with configurable skew.

The papers' word count reads 35 lines of Hamlet: 170 distinct words, of which the most frequent is 7.7 % of all. A
vocabulary of 10,000 words with exponent 1 has more state and a similar head: the first word is 10.2 % of all words, the
first ten are 30 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.jobs.draws import Draws, zipf
from tidegate.jobs.skew import Skew

#: distinct words, and words per line
VOCABULARY, LENGTH = 10_000, 8
#: exponent of Zipf's law
EXPONENTS = {Skew.off: 0.0, Skew.default: 1.0, Skew.heavy: 1.5}


@dataclass(frozen=True, slots=True)
class Words:
    seed: int = 0
    rate: float = 0.0
    skew: Skew = Skew.default
    schema: str = "line string"
    text: bool = False

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """
        >>> Words().make(np.arange(1))["line"][0].as_py().count(" ")
        7
        """
        draws, shares = Draws(records, self.seed), cumulative(self.skew)
        words = [vocabulary().take(pa.array(np.searchsorted(shares, draws.unit(k), "right"))) for k in range(LENGTH)]
        return pa.RecordBatch.from_pydict({"line": pc.binary_join_element_wise(*words, " ")})


@cache
def vocabulary() -> pa.Array:
    """Distinct words of two or three syllables.

    >>> vocabulary()[0].as_py(), vocabulary()[41].as_py(), len(vocabulary().unique())
    ('baba', 'bebe', 10000)
    """
    return pa.array([_word(k) for k in range(VOCABULARY)])


def _word(rank: int) -> str:
    syllables = [consonant + vowel for consonant in "bcdfghkl" for vowel in "aeiou"]  # 40
    letters = [syllables[rank // 40**k % 40] for k in (2, 1, 0)]
    return "".join(letters[1:] if rank < 1600 else letters)


@cache
def cumulative(skew: Skew) -> npt.NDArray[np.float64]:
    """Cumulative share of the words by rank.

    >>> round(float(cumulative(Skew.default)[0]), 3), float(cumulative(Skew.off)[-1])
    (0.102, 1.0)
    """
    return zipf(VOCABULARY, EXPONENTS[skew])
