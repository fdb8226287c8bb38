"""``python -m dpengine``: the command line."""

from dpengine.cli import main

if __name__ == "__main__":
    main(prog_name="python -m dpengine")
