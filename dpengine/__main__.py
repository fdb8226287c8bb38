"""Run the command line: `python -m dpengine`."""

from dpengine.cli import main

if __name__ == "__main__":
    main(prog_name="python -m dpengine")
