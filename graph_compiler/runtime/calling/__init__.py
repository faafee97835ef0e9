"""From a call to the arguments of a variant: binding, matching, and reasons why a call does not match."""
