"""How attacks query a model: victims of every kind, their tokens, fast scorers, gradients and encoders.

- `tokens`: `TokenVictim` owns the fast path. `Pieces` keeps each word's tokens, `Splice` holds a round as token arrays,
  `joins` says of which strings a text's tokens are made; texts for which that fails take the path of whole strings.
- `scorers` give logits, each as the plain forward pass does to 1e-5: whole passes, or only what an edit changes. On a
  GPU, batches have fixed shapes that are recorded once and replayed. In bf16 `rounding` bounds the error.
- `llm` asks language models for labels: `Template` is the prompt, `LabelTree` the label words as a tree of tokens, and
  `PrefixCache` keeps the keys and values of beginnings that prompts share.
- `gradients` differentiates by characters or tokens; victims offer it as a capability.

A victim scores each text alone: padding is masked, so outcomes are the same at any width.
"""
