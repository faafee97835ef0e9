"""TensorFlow as a source: how its functions become graphs of operations, and how these are written in canonical ones."""
