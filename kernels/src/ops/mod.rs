//! Drivers: one file per operation. `new()` fixes shapes and strides, `run()` loops.
