"""Language models as classifiers: a prompt around the text, and words for the labels."""
