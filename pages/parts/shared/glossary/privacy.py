"""Terms about the promise to people and about attacks."""

from __future__ import annotations

from dpengine.translation.catalogue import mark
from pages.parts.shared.glossary.term import Term

__all__ = ["TERMS"]

TERMS = {
    "differential-privacy": Term(
        mark("Differential privacy"),
        mark("DP, guarantee, promise, private, privacy definition, data protection"),
        mark("A promise about a publication: it would look nearly the same if any one person were not in the table."),
        mark(
            "Chance decides a little of every published number. Whatever comes out is at most e^ε times as likely with "
            "a person in the table as without. At ε = 1, someone who is 50 % sure that you are in the table can become "
            "at most 73.2 % sure, whatever else they know. Someone who knows that you are in it, and is 50 % sure of "
            "one of your answers, can become at most 88.1 % sure of it: another answer is one person less and one more."
        ),
        ("epsilon", "neighbours", "noise", "odds", "delta", "not-protected"),
        ("definition", "attacks"),
    ),
    "epsilon": Term(
        mark("Privacy budget (ε)"),
        mark("epsilon, eps, privacy loss, privacy parameter, privacy level, budget, price"),
        mark("The number that says how much a release may reveal about one person: the smaller, the more private."),
        mark(
            "At ε = 0.1, someone who is 50 % sure that you are in the table becomes at most 52.5 % sure; at ε = 1 at "
            "most 73.2 %, at ε = 4 at most 98.3 %. A smaller ε needs more noise: a count of a single table is "
            "typically off by about 1 at ε = 1 and by about 10 at ε = 0.1. The ε of several releases adds up."
        ),
        ("noise", "composition", "cap", "odds", "unit"),
        ("publish", "accuracy", "budget", "definition"),
    ),
    "not-protected": Term(
        mark("What is not protected"),
        mark("limits, legal, law, GDPR, data protection law, delete, erase, erasure, right to be forgotten"),
        mark("What ε does not limit: facts about everybody, other releases, and what is known without the table."),
        mark(
            "Counts may show that smokers fall ill more often, and so something about a smoker who is not in the "
            "table. Every release about the same people adds its own ε. What is published cannot be deleted again. "
            "Whether it counts as anonymous by law, such as the GDPR, is for your data protection officer to say."
        ),
        ("differential-privacy", "composition", "trust"),
        ("definition", "verify", "budget"),
    ),
    "trust": Term(
        mark("Who is trusted"),
        mark("trust, trust model, central model, controller, processor, operator, administrator, owner"),
        mark(
            "The owner who holds the table, and the computer that reads it. Readers of a release need not be trusted."
        ),
        mark(
            "Whoever runs this page can read the table while it is open, and whoever holds the ledger knows what was "
            "spent. Noise protects against everybody who sees only the release. On Survey, each person adds noise "
            "before answering, and nobody is trusted."
        ),
        ("not-protected", "ledger"),
        ("publish", "verify"),
    ),
    "unit": Term(
        mark("Unit of privacy"),
        mark("privacy unit, whom it protects, person, row, user level, event level, entity, household, business"),
        mark("Whom the promise protects: one row, or one person with all their rows up to a stated number."),
        mark(
            "A table of visits has several rows for one patient. If the unit were a row, a patient with 5 visits would "
            "be protected by 5 times ε only. If the unit is the patient with at most 5 rows, all 5 visits are "
            "protected by ε together, and the noise is 5 times as large. A unit can also be a household or a business."
        ),
        ("rows-kept", "neighbours", "group-privacy", "sensitivity"),
        ("publish",),
    ),
    "neighbours": Term(
        mark("Neighbouring tables"),
        mark("neighboring datasets, adjacent databases, add or remove one, unbounded, bounded"),
        mark("Two tables that differ in one person, who is in one of them and not in the other."),
        mark(
            "One table holds 5,000 people, its neighbour the same people without you: 4,999. Every release must be "
            "nearly as likely from one as from the other. As this holds for every person and every pair of tables, it "
            "holds for you."
        ),
        ("differential-privacy", "unit", "sensitivity"),
        ("definition", "verify"),
    ),
    "sensitivity": Term(
        mark("Sensitivity"),
        mark("Δ, delta f, influence of one person, bounds, clamping, clipping"),
        mark("The most that one person can change an answer: it decides how large the noise must be."),
        mark(
            "One person changes a count by at most 1. If each person has up to 3 rows, it is 3. A sum of incomes cut "
            "at 100,000 changes by up to 100,000; without a bound it could change by any amount, and no noise would be"
            " enough."
        ),
        ("laplace", "unit", "rows-kept", "mean"),
        ("definition", "ask"),
    ),
    "composition": Term(
        mark("Composition"),
        mark("several releases, adds up, total epsilon, accounting, sequential composition, zCDP, concentrated"),
        mark("The rule that the ε of all releases about the same people adds up."),
        mark(
            "Two releases at ε = 0.5 and one at ε = 1 cost ε = 2 together: 50 % sure then becomes at most 88.1 % sure. "
            "Nothing is taken back later, so a cap is best set before the first release."
        ),
        ("epsilon", "cap", "ledger", "group-privacy"),
        ("budget",),
    ),
    "group-privacy": Term(
        mark("Group privacy"),
        mark("family, household, several people, group, friends"),
        mark("How far several people together are protected: a group of k people by k times ε."),
        mark(
            "At ε = 0.5, one person moves anyone from 50 % to at most 62.3 % sure. For a family of four, who are all "
            "in the table or all absent, it is 4 · 0.5 = 2, and so at most 88.1 %."
        ),
        ("unit", "composition", "odds"),
        ("accuracy", "definition"),
    ),
    "delta": Term(
        mark("Delta (δ)"),
        mark("approximate differential privacy, failure probability, epsilon delta, pure"),
        mark("A small chance that the promise of ε does not hold; releases from here have δ = 0."),
        mark(
            "With δ = 0.000001 the promise may fail in about one of a million draws. δ = 0 is called pure differential "
            "privacy. Only the planner on Budget and the Learn lab show what a δ above 0 would buy."
        ),
        ("epsilon", "differential-privacy", "composition"),
        ("budget", "learn", "verify"),
    ),
    "odds": Term(
        mark("Odds and likelihood ratio"),
        mark("belief, how sure, probability, Bayes, posterior, prior, factor, 50 % sure"),
        mark("How strongly a release can change what someone believes about a person: at most by the factor e^ε."),
        mark(
            "50 % sure are odds of 1 to 1. At ε = 1 the factor is 2.72, so the odds become at most 2.72 to 1, which is "
            "73.2 % sure. Someone who was 1 % sure becomes at most 2.7 % sure."
        ),
        ("epsilon", "differential-privacy", "membership"),
        ("definition", "accuracy"),
    ),
    "differencing": Term(
        mark("Differencing"),
        mark("difference attack, subtract, subtraction, two queries, newcomer"),
        mark("An attack that subtracts two harmless totals, so that one person is left over."),
        mark(
            "A department of 100 people reports 7 who are ill. A week later one person has left, and it reports 6. So "
            "that person was ill. With noise drawn once and paid for from one budget, the difference says little."
        ),
        ("averaging", "reconstruction", "composition"),
        ("attacks",),
    ),
    "averaging": Term(
        mark("Averaging"),
        mark("average of many answers, repeat the question, repeated queries, cancel the noise, fresh noise"),
        mark("An attack that asks the same question many times, until the noise cancels out."),
        mark(
            "A single answer is within ±30. The average of 100 answers, each with new noise, is within ±3. Here the "
            "same question has one answer, drawn once: asking again gives the same number."
        ),
        ("noise", "differencing", "ledger"),
        ("attacks",),
    ),
    "reconstruction": Term(
        mark("Reconstruction"),
        mark("database reconstruction, linear program, many questions, Dinur Nissim, census"),
        mark("An attack that solves many published sums like a puzzle, until the rows themselves come out."),
        mark(
            "400 random sums about 200 people, each off by at most a few people, reveal the secret of almost "
            "everybody. Under one budget, more sums mean more noise in each, and the puzzle has no solution that can "
            "be trusted."
        ),
        ("differencing", "composition", "differential-privacy"),
        ("attacks",),
    ),
    "linkage": Term(
        mark("Linkage"),
        mark(
            "re-identification, reidentify, join, register, auxiliary information, background knowledge, de-anonymise"
        ),
        mark("An attack that finds a person again by joining a table without names to one with names."),
        mark(
            "Date of birth, sex and postcode together are unique for most people in the United States. Whoever finds "
            "these three in a voter list and in a table of patients knows the name, and so the diagnosis."
        ),
        ("k-anonymity", "differential-privacy"),
        ("risk",),
    ),
    "k-anonymity": Term(
        mark("k-anonymity"),
        mark("anonymous, anonymity, anonymised, anonymized, de-identified, pseudonymised, ℓ-diversity, t-closeness"),
        mark("A rule for tables of rows: each person looks the same as at least k − 1 others in what others may know."),
        mark(
            "In a 4-anonymous table, each combination of age group and postcode stands at least four times. If all "
            "four have the same illness, it is revealed all the same. And two such tables of the same people can undo "
            "each other. The rule limits neither; ε does."
        ),
        ("linkage", "differential-privacy"),
        ("risk",),
    ),
    "membership": Term(
        mark("Membership attack"),
        mark("membership inference, tracing, is a person in the table, guess"),
        mark("An attack that guesses from published numbers whether a certain person is in the table."),
        mark(
            "Being in a register of a disease is a secret by itself. A coin is right in 50 of 100 guesses. At ε = 1 no "
            "attack can be right in more than 73.2 of 100, and at ε = 0.1 in no more than 52.5."
        ),
        ("odds", "epsilon", "differencing"),
        ("attacks", "definition"),
    ),
}
