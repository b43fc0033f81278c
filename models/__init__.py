"""Real models for the tests, benchmarks and demos: fetched by package name, checked, built on the spot."""
