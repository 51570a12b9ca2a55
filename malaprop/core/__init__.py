"""Plain values and protocols; the standard library and numpy alone.

- `text`: a `Text` is cut once into slots (words) and gaps; their number never changes, so `changed(origin)` compares
  arrays. The gap between two fields holds a lone surrogate, which no valid text contains. `Words` numbers every string;
  a table lives as long as a shard of 2,048 examples, because character attacks make ever new words.
- `variants`: edits of one text as integers. `pool`: the variants of a round as flat arrays with 64-bit keys, each the
  owner's salt plus a sum over places of `mix(place, word)`, so that an edit adds one difference and builds no row.
- `ask`: `Ask` and `Steps` are how parts request work; `relay` answers an attack's asks in another way.
- `victim`: what the engine needs of a model, what it offers, and its `VictimDescription` for other processes.
- `score`: `best` and `ranked` ignore differences under 1e-6, because the rounding of a batch must not decide.
- `seeds`: `generator(seed, example id)` is the only source of randomness.
- `budget`: one `Budget` counts for all workers; a `BudgetClient` sends a `Charge` and gets a `BudgetState`.
"""
