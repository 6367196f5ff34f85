"""The page of a plan as one HTML file: `page` says what is in it, `html` renders it."""

from tidegate.report.plan.html import render
from tidegate.report.plan.page import Conditions, CostRow, PlanPage, Spread

__all__ = ["Conditions", "CostRow", "PlanPage", "Spread", "render"]
