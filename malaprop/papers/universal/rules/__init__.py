"""Word replacement rules that change the label of many models, mined from victims or from counts (section 4.2)."""
