"""What outcomes and models tell beyond a rate: figures and tables of the papers, written as records."""
