"""Random programs: a seeded generator, a checker that compares three ways, a shrinker.

``python -m tests.generator --count 2000 --seed 0 --jobs 2`` generates and checks programs.
"""
