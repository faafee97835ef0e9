"""The neural-network extension of the vocabulary, in the field's usual names; operations stay whole, with decompositions beside them."""
