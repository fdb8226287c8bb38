"""Terms about publishing: plans, budgets, the ledger, and files for readers."""

from __future__ import annotations

from dpengine.translation.catalogue import mark
from pages.parts.shared.glossary.term import Term

__all__ = ["TERMS"]

TERMS = {
    "plan": Term(
        mark("Plan"),
        mark("plan file, YAML, specification, settings, project file, configuration"),
        mark("All your decisions in one small file without data: columns, values, tables, ε and whom it protects."),
        mark(
            "“age in 5 bins × region, ε = 1, one row is one person” is a plan. It can be saved, sent to a colleague "
            "and used again next year. The same plan on the same data always gives the same release and costs nothing "
            "more."
        ),
        ("release", "codebook", "preview", "approval", "strategy"),
        ("publish", "accuracy"),
    ),
    "preview": Term(
        mark("Preview (made-up numbers)"),
        mark("preview, mock table, made-up table, made up, stand-in, simulation, simulated, example numbers"),
        mark("What a release of your plan would look like, on a table that the program has invented."),
        mark(
            "If you say “about 5,000 rows”, 5,000 people are made up and get noise of the real size. Your own table is "
            "not read for this, so you may look as often as you like: it costs nothing."
        ),
        ("noise", "half-width", "mostly-noise"),
        ("publish", "accuracy"),
    ),
    "release": Term(
        mark("Release"),
        mark("publication, publish, published, output, publish once, irreversible"),
        mark("A set of private tables, drawn once, recorded and paid for with ε; it cannot be taken back."),
        mark(
            "You publish at ε = 1: noise is drawn a single time, and 1 is taken from the budget of the dataset. "
            "Opening or downloading the release again costs 0 and gives the same bytes."
        ),
        ("bundle", "plan", "ledger", "dataset"),
        ("publish", "budget"),
    ),
    "bundle": Term(
        mark("Bundle"),
        mark("zip, zip file, release file, download everything, report, README, manifest"),
        mark("The zip file of a release, with all that a reader needs."),
        mark(
            "It holds the tables as CSV, synthetic rows, a report that opens offline in any browser, and a file that "
            "says what was promised and at what ε. Give readers this file."
        ),
        ("release", "signature", "synthetic-rows", "replicates"),
        ("publish", "verify"),
    ),
    "signature": Term(
        mark("Signature and verifying"),
        mark("verify, key, fingerprint, public key, Ed25519, checksum, authentic, tampering, SHA-256"),
        mark("A seal on a release file, by which anyone can see who published it and that nothing was changed."),
        mark(
            "Tell readers the fingerprint of your key on your own site, such as “3f2a-91c0-…”. Verify compares it with "
            "the file: one changed digit in one table, and the file is refused. A signature does not say that the "
            "numbers are good."
        ),
        ("bundle", "ledger"),
        ("verify", "budget"),
    ),
    "dataset": Term(
        mark("Dataset"),
        mark("data set, data source, name of the data, same people, account"),
        mark("The name under which all releases about the same people share one budget."),
        mark(
            "Keep “clinic-2026” for every table made from that year's patients. Three releases at ε = 0.5 have then "
            "spent 1.5 of it. The same data under another name is recognised, and shares the account."
        ),
        ("ledger", "cap", "composition"),
        ("budget", "publish"),
    ),
    "ledger": Term(
        mark("Ledger"),
        mark("budget account, book, accounting, record, history, log, audit trail"),
        mark("The book in which every release, its ε and its price are recorded before anything is shown."),
        mark(
            "“22 November, clinic-2026, ε = 0.5, age × region.” Nothing is ever removed from it, so nobody can spend "
            "the same budget twice. It holds no rows of your table."
        ),
        ("cap", "dataset", "composition", "signature"),
        ("budget",),
    ),
    "cap": Term(
        mark("Cap"),
        mark("limit, maximum, budget limit, total epsilon, most that may be spent, refuse, refused"),
        mark("The most ε that a dataset may ever spend; whatever would go beyond it is refused."),
        mark(
            "Cap 4, spent 3.5: a release at ε = 1 is refused, one at ε = 0.5 is the last. Reopening earlier releases "
            "stays free."
        ),
        ("ledger", "epsilon", "composition", "approval"),
        ("budget", "publish"),
    ),
    "approval": Term(
        mark("Approval"),
        mark("second person, four eyes, two-person rule, sign-off, colleague, approve, decline"),
        mark("A second person looks at a plan and its price, and agrees, before the budget is spent."),
        mark(
            "You send the plan “age × region, ε = 1”. Your colleague sees its promise and its errors, but no row of "
            "the table, and approves or declines with a note. The ledger keeps both names."
        ),
        ("plan", "cap", "release"),
        ("publish", "budget"),
    ),
}
