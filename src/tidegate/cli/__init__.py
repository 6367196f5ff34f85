"""The command line."""

from tidegate.cli.app import main

__all__ = ["main"]
