"""Samples of public functions of TensorFlow and of ``keras.ops``: a table a module, and what is left out,
with the reason.
"""
