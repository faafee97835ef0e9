"""From a call to the arguments of a variant: binding, matching, and why a call does not match."""
