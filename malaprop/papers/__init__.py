"""The five papers that Malaprop grew from, one room each, and the test of their claims.

`universal` (U), `attentive` (S), `natural` (N), `firebert` (F) and `hotflip` (H) each begin with the paper's title, its
ideas and the files that hold them. `claims` tests what the papers claim against the records of their studies.
"""
