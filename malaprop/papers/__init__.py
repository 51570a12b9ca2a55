"""The five papers that all of this grew from, a folder each, and their claims put to the test."""
