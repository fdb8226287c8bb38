"""Run what a page of the documentation tells its reader to type, in order, in one folder and one process."""

from __future__ import annotations

import contextlib
import io
import os
import pwd
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from dpengine.cli import main

__all__ = ["Block", "Reader", "blocks"]

BLOCK = re.compile(r'(?ms)^( *)```(\w+)(?: title="([^"]*)")?[^\n]*\n(.*?)^\1```')


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its title if it has one, and its text."""

    language: str
    title: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of code of a page."""
    for indent, language, title, text in BLOCK.findall(page):
        yield Block(language, title, re.sub(f"(?m)^{indent}", "", text))


@dataclass
class Reader:
    """Somebody who follows a page in the current folder.

    A block of Python runs, or is written to the file that is its title. So is any other block with the name of a file.
    The lines of a block of `sh` run one by one; `title="As ann"` says in whose account. The word ID stands for the
    request that was sent last.
    """

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    account: str = ""
    request: str = "ID"

    def follow(self, page: str) -> None:
        """Do what the page says, in order. Raises AssertionError where a command fails."""
        for block in blocks(page):
            if re.fullmatch(r"[\w.-]+\.\w+", block.title):
                Path(block.title).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                exec(compile(block.text, "page", "exec"), self.names)
            elif block.language == "sh":
                self.account = block.title.removeprefix("As ")
                for line in block.text.replace("\\\n", " ").splitlines():
                    self.run(shlex.split(line, comments=True))

    def run(self, words: list[str]) -> None:
        """Run a command; what comes after > is the file for its output."""
        words, output = (words[:-2], words[-1]) if ">" in words else (words, "")
        words = [self.request if word == "ID" else word for word in words]
        match words:
            case []:
                return
            case ["export", setting]:
                name, _, value = setting.partition("=")
                os.environ[name] = value
                return
            case ["private-release", *arguments] | ["python", "-m", "dpengine", *arguments]:
                printed = self.command(arguments)
            case ["python", script, *arguments]:
                stream = io.StringIO()
                with contextlib.redirect_stdout(stream), mock.patch.object(sys, "argv", [script, *arguments]):
                    runpy.run_path(script, run_name="__main__")
                printed = stream.getvalue()
            case _:
                raise AssertionError(f"a page says what no test can run: {words}")
        if output:
            Path(output).write_text(printed, encoding="utf-8")

    def command(self, arguments: list[str]) -> str:
        known = pwd.getpwuid(os.getuid())
        account = pwd.struct_passwd((self.account or known[0], *known[1:]))
        with mock.patch.object(pwd, "getpwuid", return_value=account):
            done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, f"{shlex.join(arguments)}: {done.stderr}{done.exception!r}"
        if arguments[:3] == ["ledger", "approval", "send"]:
            self.request = done.stdout.split()[0]
        return done.stdout
