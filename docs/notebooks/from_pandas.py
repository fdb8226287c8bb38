# %% [markdown]
# # Publish a data frame
# A clinic has a row for each patient in pandas. It wants to publish how many smoke, by age and region, and the mean
# stay, and to know beforehand how exact this will be. The patients here are made up.

# %%
import numpy as np
import pandas as pd

import dpengine as dpe

chance = np.random.default_rng(2026)
patients = pd.DataFrame(
    {
        "age": chance.integers(18, 95, 4000),
        "region": chance.choice(["North", "South", "West"], 4000, p=[0.5, 0.4, 0.1]),
        "smokes": chance.choice(["yes", "no"], 4000, p=[0.2, 0.8]),
        "nights": chance.poisson(4, 4000),
    }
)
patients.head(3)

# %% [markdown]
# ## The plan
# It says what is public: the columns with all their values and bounds, from a codebook and never from the rows; what
# to publish; and ε. A plan is a value that shows itself: its price, whom it protects, its tables.

# %%
plan = dpe.Plan(
    title="Patients of the clinic, 2026",
    dataset="clinic-2026",
    epsilon="0.5",
    rows_about=4000,
    columns=[
        dpe.Number(name="age", edges=[18, 30, 45, 60, 75, 95]),
        dpe.Category(name="region", values=["North", "South", "West"], other=False, missing=False),
        dpe.YesNo(name="smokes", other=False),
        {"name": "nights", "kind": "amount", "from": 0, "to": 30},
    ],
    tables=[["age", "smokes"], {"columns": ["region"], "mean": ["nights"]}],
)
plan

# %% [markdown]
# ## How exact it will be
# This follows from the plan alone. It reads no row and spends nothing.

# %%
dpe.predict(plan)

# %% [markdown]
# Which ε brings every count within ±10, and what does the error look like for others?

# %%
print(float(dpe.epsilon_for(plan, half_width=10)))
dpe.predict(plan, ["0.2", "0.5", 2])

# %% [markdown]
# A preview is a release of a made-up table of this size: what readers will get, with noise of the real size.

# %%
dpe.preview(plan)

# %% [markdown]
# ## Publish, once
# The ledger remembers what was spent. Running this cell again gives the same release at no cost. `progress` is called
# with the name of each stage; with tqdm, `with tqdm() as bar:` and `progress=bar.set_description` make it a bar.

# %%
ledger = dpe.Ledger("sqlite:///notebooks-ledger.db")
ledger.set_cap(plan.dataset, 2)
release = dpe.release(patients, plan, ledger, progress=print)
release

# %% [markdown]
# ## Where the numbers go
# Each table is a data frame of pandas, and an Arrow table for polars, DuckDB and others. The release itself is a stream
# of all tables: `polars.DataFrame(release)` is one long frame.

# %%
by_age = release.tables["age", "smokes"].pivot(index="age", columns="smokes", values="count")
by_age.assign(smokers=(by_age["yes"] / by_age[["yes", "no"]].sum(axis=1)).round(3))

# %%
print(release.arrow["region",].schema)

# %%
release.save("clinic-release.zip")
print(dpe.verify("clinic-release.zip")["release_id"], "left:", ledger.left(plan.dataset))
