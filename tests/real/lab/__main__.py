"""Run the laboratory's server: python -m tests.real.lab PORT [--region R] [--cluster C] [--kubernetes V]."""

from __future__ import annotations

import argparse

from tests.real.lab.server import Settings, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.lab")
    parser.add_argument("port", type=int)
    for name in ("--region", "--cluster", "--kubernetes"):
        parser.add_argument(name, default=argparse.SUPPRESS)
    serve(Settings(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
