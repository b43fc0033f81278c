"""Benchmarks that run real models on the provider and on onnxruntime's CPU provider."""
