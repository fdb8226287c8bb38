# %% [markdown]
# # Simulate before collecting data
# A survey will ask people whether they go without care because of its cost, in two groups. Its tables will be published
# with differential privacy. How many people must be asked, and with which ε, so that readers see a difference of ten
# percentage points? This can be answered before anybody is asked: a plan needs no data, and a release of simulated
# answers costs nobody's budget.

# %%
import numpy as np
import pandas as pd

import dpengine as dpe

plan = dpe.Plan(
    title="Care and its cost, a survey to come",
    dataset="care-survey",
    epsilon=1,
    rows_about=400,
    columns=[
        dpe.Category(name="group", values=["insured", "uninsured"], other=False, missing=False),
        dpe.YesNo(name="goes_without", other=False, missing=False),
    ],
    tables=[["group", "goes_without"]],
)
plan

# %% [markdown]
# ## What the noise alone does
# The error of a count does not depend on how many people answer.

# %%
dpe.predict(plan, ["0.1", "0.5", 2])

# %% [markdown]
# ## What readers will see
# Simulate the survey itself: people drawn at random, 20 % and 30 % of whom go without care. Publish each simulated
# survey without a ledger (a fresh one in memory serves that one call), and compute from it what a reader would: the
# difference in percentage points.

# %%
TIMES = 4  # take 200 for a decision
chance = np.random.default_rng(7)


def survey(people: int) -> pd.DataFrame:
    group = np.arange(people) % 2
    without = chance.random(people) < np.array([0.2, 0.3])[group]
    return pd.DataFrame(
        {"group": np.array(["insured", "uninsured"])[group], "goes_without": np.where(without, "yes", "no")}
    )


def difference(result: dpe.Result) -> float:
    counts = result.tables["group", "goes_without"].pivot(index="group", columns="goes_without", values="estimate")
    share = counts["yes"] / counts.sum(axis=1)
    return 100 * (share["uninsured"] - share["insured"])


rows = []
for people in (400, 1600):
    for epsilon in ("0.05", "1"):
        found = [difference(dpe.release(survey(people), plan.at(epsilon))) for _ in range(TIMES)]
        rows.append({"people": people, "ε": epsilon, "mean": np.mean(found), "spread": np.std(found)})
pd.DataFrame(rows).pivot(index="people", columns="ε", values="spread").round(1)

# %% [markdown]
# The table is the spread of that difference, in percentage points, over a few surveys each. Along a row, the noise for
# privacy shrinks; down a column, both errors do. Where a row no longer changes from one ε to the next, the people who
# were drawn decide, and a larger ε would buy nothing.
#
# ## From there
# The ε that brings every count within ±5 of the truth, and what its release would look like:

# %%
enough = dpe.epsilon_for(plan, half_width=5)
print(float(enough))
dpe.preview(plan.at(enough))
