"""Translation models: sub-words, networks, training, decoding, and folders that hold them."""
