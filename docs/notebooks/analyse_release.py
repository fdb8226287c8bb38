# %% [markdown]
# # Analyse a release as a reader
# You were given a release file. You have no access to the rows and need none: this notebook reads the file, and puts a
# confidence interval around a regression that its publisher never thought of.
#
# In place of a file that somebody gives you, this cell makes one from the sample.

# %%
import numpy as np
import pandas as pd

import dpengine as dpe

plan = dpe.Plan.load("../../data/rand.plan.yaml")
ledger = dpe.Ledger("sqlite:///notebooks-ledger.db")
dpe.release("../../data/rand.csv.gz", plan, ledger).save("rand-release.zip")

# %% [markdown]
# ## Read it
# `published` verifies the file first. Add `key=` with the fingerprint that the publisher states, to know who signed it.

# %%
release = dpe.published("rand-release.zip")
release

# %%
release.tables["sex", "doctor_visits"].head()

# %% [markdown]
# ## An interval for a number of your own
# Intervals of single cells cannot be added up. *Replicates* help: the tables of the release, drawn 50 times with fresh
# errors of the right size. Compute your number from the release (`r0`) and from each replicate: the scatter is its
# error.

# %%
drawn = dpe.draw_replicates("rand-release.zip")
DRAWS = [f"r{k}" for k in range(51)]


def interval(number, table: pd.DataFrame) -> tuple[float, float]:
    """Return a number that is computed from a column of counts, and the half-width of its 95 % interval."""
    value, *draws = (number(table[draw].to_numpy()) for draw in DRAWS)
    return value, 2.1 * np.sqrt(np.mean((np.array(draws) - value) ** 2))


visits = drawn["sex", "doctor_visits"]
none, women = (visits["doctor_visits"] == "[0, 1)").to_numpy(), (visits["sex"] == "female").to_numpy()
share, within = interval(lambda n: n[none & women].sum() / n[women].sum(), visits)
print(f"Women without a visit to a doctor in a year: {share:.1%} ± {within:.1%}")

# %% [markdown]
# ## A regression
# Does care that costs more keep people from the doctor? Regress whether there was any visit on what the patient pays of
# each bill, over the cells of the table, with its counts as weights. Counts of a replicate may be negative: use the
# normal equations, since many programs refuse negative weights.

# %%
cells = drawn["cost_sharing", "doctor_visits"]
pays = cells["cost_sharing"].map({"free care": 0, "25%": 25, "50%": 50, "95%": 95, "100%": 100})
known = pays.notna().to_numpy()
x = np.column_stack([np.ones(known.sum()), pays[known]])
y = (cells["doctor_visits"] != "[0, 1)")[known].to_numpy(dtype=float)


def slope(n: np.ndarray) -> float:
    """Return how many percentage points fewer visit a doctor, for each 10 % of the bill that they pay."""
    weighted = x.T * n[known]
    return 1000 * np.linalg.solve(weighted @ x, weighted @ y)[1]


value, within = interval(slope, cells)
print(f"{value:.2f} ± {within:.2f} percentage points for each 10 % of the bill")

# %% [markdown]
# The interval is about the noise that protects people. That they are a sample of others is not in it, nor is it in any
# number of the release. How the draws lie, as a picture of one's own:

# %%
draws = pd.Series([slope(cells[draw].to_numpy()) for draw in DRAWS[1:]], name="slope in 50 replicates")
draws.describe().to_frame().round(2)
