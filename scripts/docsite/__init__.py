"""The documentation site: stages the pages, generates the reference, builds the site with Zensical, checks its links.

It is run by `./scripts/docs`. No part of the package `callboard` depends on it.
"""
