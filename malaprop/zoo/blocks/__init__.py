"""Networks of the zoo. Each takes ids [batch, token] with lengths [batch] and gives logits [batch, label]."""
