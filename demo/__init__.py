"""Programs that show the provider at work on real models."""
