"""Samples of public functions of TensorFlow and of ``keras.ops``, a table for each module, and the functions
left out, with reasons.
"""
