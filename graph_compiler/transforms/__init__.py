"""Derivatives and vectorisation of graphs and functions of any framework, in the words of JAX.

Each transform takes a graph, a graph's ``functional``, a function of torch, JAX or TensorFlow, or one of NumPy, and gives a function that
may be transformed again. Derivatives are the framework's own.

>>> import torch, graph_compiler
>>> from graph_compiler import transforms
>>> graph = graph_compiler.transpile(torch.nn.Linear(2, 1), to="jax", args=(torch.ones(1, 2),))
>>> gradient = transforms.grad(lambda weights, x: graph.functional(weights, x).sum())(graph.parameters, torch.ones(1, 2))
>>> gradient["weight"].tolist()
[[1.0, 1.0]]
"""

from .checkpointing import checkpoint as checkpoint
from .checkpointing import name as name
from .forward import hvp as hvp
from .forward import jvp as jvp
from .forward import linearize as linearize
from .functions import Transformed as Transformed
from .jacobians import hessian as hessian
from .jacobians import jacfwd as jacfwd
from .jacobians import jacrev as jacrev
from .jitting import Jitted as Jitted
from .jitting import jit as jit
from .loops import fori_loop as fori_loop
from .loops import scan as scan
from .mapping import vmap as vmap
from .reverse import grad as grad
from .reverse import value_and_grad as value_and_grad
from .reverse import vjp as vjp
from .stopping import ignore_derivatives as ignore_derivatives
from .stopping import stop_gradient as stop_gradient
