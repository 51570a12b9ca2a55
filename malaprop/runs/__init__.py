"""An attack over a dataset: joins victims, services and attacks, and writes what comes out."""
