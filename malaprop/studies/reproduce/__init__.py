"""malaprop reproduce: the papers' claims, each with the studies that put it to the test and what their records say."""
