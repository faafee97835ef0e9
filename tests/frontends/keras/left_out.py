"""Public Keras layers without samples, with reasons."""

LEFT_OUT = {
    "Layer": "the base class of layers: custom layers have tests of their own",
    "Wrapper": "the base class of wrappers",
    "InputSpec": "no layer",
    "InputLayer": "marks the inputs of a model, and is not called",
    "Hashing": "takes texts or integers, by a table of hashes",
    "HashedCrossing": "takes texts or integers, by a table of hashes",
    "StringLookup": "takes texts",
    "IntegerLookup": "takes integers, by a hash table",
    "TextVectorization": "takes texts",
    "MaxNumBoundingBoxes": "takes ragged boxes",
    "TFSMLayer": "a SavedModel, which has tests of its own",
    "JaxLayer": "calls JAX from TensorFlow",
    "FlaxLayer": "calls JAX from TensorFlow",
    "TorchModuleWrapper": "runs with Keras on torch alone",
}
