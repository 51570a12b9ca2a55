"""The web server that all pages share: headers, limits, tokens, error pages, and the function that starts it.

`site.make_site` gives an application with all of them; `serving.serve` runs it. Needs the extra `malaprop[web]`.
"""
