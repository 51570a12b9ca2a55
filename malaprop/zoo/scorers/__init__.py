"""Fast scorers of the zoo's networks, which compute again only what an edit changes."""
