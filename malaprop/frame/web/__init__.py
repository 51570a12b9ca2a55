"""What every page that Malaprop serves has in common: headers, limits, tokens, error pages, and how it is started.

`site.make_site` gives an application with all of them; `serving.serve` runs it. Needs the extra `malaprop[web]`.
"""
