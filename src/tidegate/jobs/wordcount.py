"""Word count: how often each word came so far."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.jobs.definition import Job


def wordcount(lines: DataFrame) -> DataFrame:
    """Running counts of lower-case words, update mode: each batch revises the words it met.

    State: one count per word for ever, bounded by the vocabulary; no watermark. The papers' Flink job splits and
    counts in the same way; its lines are 35 of Hamlet's, here they are drawn by Zipf's law.
    """
    words = lines.select(F.explode(F.split(F.lower("line"), r"\W+")).alias("word"))
    return words.where("word != ''").groupBy("word").count()


JOB = Job(
    "wordcount",
    "running counts of words drawn by Zipf's law (update mode)",
    "words",
    wordcount,
    mode="update",
    key=("word",),
)
