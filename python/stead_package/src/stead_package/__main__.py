"""`python -m stead_package inspect FILE`."""

from __future__ import annotations

import argparse
import sys

from .errors import PackageError
from .inspection import shown


def main() -> int:
    """Runs the command line; 1 for a package that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m stead_package", description="Tools for packages.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "inspect",
        help="say what is in a package, without running anything of it",
        epilog="example: python -m stead_package inspect --json --verify shop.pkg",
    )
    command.add_argument("file", help="a package, or the folder into which one was unpacked")
    command.add_argument("--json", action="store_true", help="as JSON")
    command.add_argument("--verify", action="store_true", help="read everything and compare with the recorded digests")
    arguments = parser.parse_args()
    try:
        print(shown(arguments.file, arguments.verify, arguments.json))
    except (PackageError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
