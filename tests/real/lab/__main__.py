"""Run the laboratory's server: python -m tests.real.lab PORT [--region R] [--cluster C] [--kubernetes V].

With --until-eof it ends when its standard input does, so that it never outlives who started it.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading

from tests.real.lab.server import Settings, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.lab")
    parser.add_argument("port", type=int)
    for name in ("--region", "--cluster", "--kubernetes"):
        parser.add_argument(name, default=argparse.SUPPRESS)
    parser.add_argument("--until-eof", action="store_true")
    given = vars(parser.parse_args())
    if given.pop("until_eof"):
        threading.Thread(target=_end_with_input, daemon=True).start()
    serve(Settings(**given))


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
