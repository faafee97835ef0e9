"""Training of graphs in torch, JAX and TensorFlow, with the framework's own optimizers, in one vocabulary.

>>> import torch
>>> from graph_compiler import training
>>> model = torch.nn.Linear(2, 1)
>>> rule = training.optimizer("adamw", learning_rate=0.05)
>>> state = training.TrainState.create(
...     model, rule, loss=torch.nn.MSELoss(), to="jax", args=(torch.ones(1, 2),)
... )
>>> batch = (torch.eye(2), torch.ones(2, 1))
>>> for _ in range(100):
...     state, metrics = training.single_train_step(state, batch)
>>> float(metrics["loss"]) < 0.1
True
>>> state.to_source()  # the model has the trained weights
"""

from .fitting import DeviceIterator as DeviceIterator
from .fitting import fit as fit
from .optimizers import Optimizer as Optimizer
from .optimizers import Schedule as Schedule
from .optimizers import optimizer as optimizer
from .optimizers import schedule as schedule
from .state import TrainState as TrainState
from .steps import apply_gradients as apply_gradients
from .steps import compute_gradients as compute_gradients
from .steps import single_train_step as single_train_step
