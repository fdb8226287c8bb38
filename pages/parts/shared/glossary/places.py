"""The pages by address, each with its subject, so that a search finds them too."""

from __future__ import annotations

from dataclasses import dataclass

from dpengine.translation.catalogue import mark

__all__ = ["PLACES", "Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """A page: its file, its title and icon in the navigation, its subject, and other words to find it by."""

    file: str
    title: str
    icon: str
    subject: str
    also: str


PLACES = {
    "publish": Place(
        "pages/publish.py",
        mark("Publish"),
        ":material/publish:",
        mark("Lead a table through six steps to a release, and see its error before anything is spent."),
        mark("upload, file, start, columns, download, report, demo, sample, Excel, CSV, SPSS, project, undo"),
    ),
    "accuracy": Place(
        "pages/accuracy.py",
        mark("Accuracy"),
        ":material/show_chart:",
        mark("How wrong the published numbers will be at each ε, and which ε gives the error that you can accept."),
        mark("error, precision, exact, curve, strategies compared, how many cells, mostly noise, sample"),
    ),
    "budget": Place(
        "pages/budget.py",
        mark("Budget"),
        ":material/account_balance_wallet:",
        mark("What each dataset has spent, on what, and what is left; caps, and a plan for many releases."),
        mark("cap, limit, account, history, spent, left, earlier releases, key, planner, years"),
    ),
    "ask": Place(
        "pages/ask.py",
        mark("Ask"),
        ":material/contact_support:",
        mark("One private question at a time: a count, share, sum, average, quantile or the most common value."),
        mark("query, single question, mean, median, percentile, proportion, answer"),
    ),
    "verify": Place(
        "pages/verify.py",
        mark("Verify"),
        ":material/verified:",
        mark("Check that a release file is complete and unchanged, who signed it, and what it promises."),
        mark("check, checksum, authentic, genuine, tampered, changed, signature, zip file"),
    ),
    "definition": Place(
        "pages/labs/definition.py",
        mark("Definition"),
        ":material/balance:",
        mark("How likely each answer is on two tables that differ in one person, and what ε promises about that."),
        mark("what is differential privacy, proof, probability, guarantee, promise, audit"),
    ),
    "attacks": Place(
        "pages/labs/attacks.py",
        mark("Attacks"),
        ":material/swords:",
        mark(
            "See how differencing, averaging, reconstruction and rounding errors of computers break other protections."
        ),
        mark("hack, break, breaks, average of many answers, subtract, rounding, floating point, find a person"),
    ),
    "risk": Place(
        "pages/labs/risk.py",
        mark("Risk"),
        ":material/group_search:",
        mark("Who stands out in a table without names, and why coarser values do not protect enough."),
        mark("anonymous, anonymised, re-identification, unique, linkage, ℓ-diversity, t-closeness, quasi-identifier"),
    ),
    "survey": Place(
        "pages/labs/survey.py",
        mark("Survey"),
        ":material/ballot:",
        mark("People protect their own answers by coins, so that nobody has to be trusted with the true ones."),
        mark(
            "local differential privacy, coin, questionnaire, randomised response, sensitive question, curator, trust"
        ),
    ),
    "choose": Place(
        "pages/labs/choose.py",
        mark("Choose"),
        ":material/how_to_vote:",
        mark("Choose the best option by private scores, so that only the winner is published."),
        mark("winner, vote, selection, auction, price, permute-and-flip, exponential mechanism"),
    ),
    "learn": Place(
        "pages/labs/learn.py",
        mark("Learn"),
        ":material/school:",
        mark("Learn day by day whose advice to follow, without your choices revealing any single day."),
        mark("online learning, experts, machine learning, regret, shares, forecast"),
    ),
}
