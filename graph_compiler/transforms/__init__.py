"""Derivatives and vectorization of graphs and functions, with the names that JAX uses.

A transform such as :func:`grad` takes a graph, a graph's ``functional``, or a function of torch, JAX,
TensorFlow or NumPy, and returns a function that may be transformed again. Derivatives are computed by the
framework itself, and those of a NumPy function by another one.

>>> import torch, graph_compiler
>>> from graph_compiler import transforms
>>> graph = graph_compiler.transpile(torch.nn.Linear(2, 1), to="jax", args=(torch.ones(1, 2),))
>>> loss = lambda weights, x: graph.functional(weights, x).sum()
>>> transforms.grad(loss)(graph.parameters, torch.ones(1, 2))["weight"].tolist()
[[1.0, 1.0]]
"""

from .control import checkpoint as checkpoint
from .control import fori_loop as fori_loop
from .control import ignore_derivatives as ignore_derivatives
from .control import name as name
from .control import scan as scan
from .control import stop_gradient as stop_gradient
from .derivatives import grad as grad
from .derivatives import hessian as hessian
from .derivatives import hvp as hvp
from .derivatives import jacfwd as jacfwd
from .derivatives import jacrev as jacrev
from .derivatives import jvp as jvp
from .derivatives import linearize as linearize
from .derivatives import value_and_grad as value_and_grad
from .derivatives import vjp as vjp
from .jitting import Jitted as Jitted
from .jitting import jit as jit
from .mapping import vmap as vmap
from .transformed import Transformed as Transformed
