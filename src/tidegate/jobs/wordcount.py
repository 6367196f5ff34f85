"""Word count: running counts of words."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.jobs.definition import Job


def count_words(lines: DataFrame) -> DataFrame:
    """Running counts of lower-case words, in update mode: each batch emits the new counts of its words.

    State: one count per word, never removed and bounded by the vocabulary; no watermark. The papers' Flink job splits
    and counts in the same way; its input is 35 lines of Hamlet, here lines are drawn by Zipf's law.
    """
    words = lines.select(F.explode(F.split(F.lower("line"), r"\W+")).alias("word"))
    return words.where("word != ''").groupBy("word").count()


JOB = Job(
    "wordcount",
    "running counts of words drawn by Zipf's law (update mode)",
    "words",
    count_words,
    mode="update",
    key=("word",),
)
