"""Functions and graphs of torch, JAX and TensorFlow on many devices, by each framework's own parallelism.

>>> import torch, jax, graph_compiler
>>> from graph_compiler import parallel
>>> graph = graph_compiler.transpile(torch.nn.Linear(2, 1), to="jax", args=(torch.ones(4, 2),))
>>> parallel.Parallel(graph, devices=jax.devices()[:1])(torch.ones(8, 2)).shape
(8, 1)
"""

from . import rules as rules
from .collectives import all_gather as all_gather
from .collectives import axis_index as axis_index
from .collectives import axis_size as axis_size
from .collectives import pmax as pmax
from .collectives import pmean as pmean
from .collectives import pmin as pmin
from .collectives import psum as psum
from .parallel import Parallel as Parallel
from .parallel import concat as concat
from .parallel import first as first
from .parallel import mean as mean
from .parallel import none as none
from .parallel import sum as sum
from .sharding import Sharded as Sharded
from .sharding import hint as hint
from .sharding import replicate as replicate
from .sharding import shard as shard
from .sharding import unreplicate as unreplicate
