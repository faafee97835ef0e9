"""Programs in TensorFlow's words in which a recording could go wrong without a word."""
