"""The answer of a tab: put where it was asked for, by a page of this server, and nowhere else."""

from __future__ import annotations

from pages.parts.server.tab_route import ADDRESS, Question, routes


def test_an_answer_is_there_once_it_has_arrived_and_may_be_empty() -> None:
    question = Question("s")
    assert question.answer is None
    assert not question.wait(0)
    question.put("")
    assert question.answer == ""
    assert question.wait(0)
    question.put("a plan")
    assert question.answer == "a plan"


def test_each_question_has_its_own_token() -> None:
    assert len({Question("s").token for _ in range(100)}) == 100
    assert len(Question("s").token) >= 40


def test_the_route_takes_answers_and_returns_none() -> None:
    (route,) = routes()
    assert route.path == ADDRESS
    assert route.methods == {"PUT"}
