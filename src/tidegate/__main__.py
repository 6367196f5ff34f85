"""`python -m tidegate`."""

from tidegate.cli import main

if __name__ == "__main__":
    main()
