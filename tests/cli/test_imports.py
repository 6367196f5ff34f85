"""What a command imports: help must come at once, and a simulation must not need Spark."""

import subprocess
import sys

HEAVY = ("pyspark", "py4j", "numpy", "scipy", "pyarrow", "pandas", "bokeh", "sqlite3")


def modules_after(code: str) -> set[str]:
    listing = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stdout.split()
    )


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    assert modules_after("import tidegate.cli").isdisjoint(HEAVY)


def test_a_comparison_on_the_simulator_imports_no_spark() -> None:
    code = (
        "import tidegate.compare.execution, tidegate.compare.cell_runner, tidegate.backtest.request, tidegate.report\n"
        "import tidegate.report.compare, tidegate.report.trace, tidegate.runner.simulated_run\n"
        "from tidegate.experiment import Experiment\n"
        "from tidegate.deployment.simulated import simulate\n"
        "simulate(Experiment(engine='sim', duration=300.0))"
    )
    assert modules_after(code).isdisjoint({"pyspark", "py4j"})
