"""The command line. One file per command; this one only starts it and turns errors into sentences."""

import sys


def main() -> None:
    """The entry point of `callboard`."""
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("callboard"):
            raise
        sys.exit('The command line needs an optional part. Install it with: pip install "callboard[cli]"')
    sys.exit(run())
