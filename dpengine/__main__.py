"""Run the command line: `python -m dpengine`."""

from dpengine.cli import run

if __name__ == "__main__":
    run(prog_name="python -m dpengine")
