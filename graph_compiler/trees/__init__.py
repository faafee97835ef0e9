"""Trees: nested containers separated into leaves, such as arrays, and structure.

Lists, tuples, named tuples, dicts and their subclasses (such as a transformers ``ModelOutput``),
dataclasses, and objects whose attributes contain leaves are branches. Other values are usually static.

>>> leaves, tree = flatten({"a": [1.5, "x"], "b": 2.5}, is_leaf=lambda value: isinstance(value, float))
>>> leaves, unflatten(tree, [10, 20])
([1.5, 2.5], {'a': [10, 'x'], 'b': 20})
"""

from .kinds import STANDS_FOR as STANDS_FOR
from .kinds import Setting as Setting
from .kinds import build as build
from .kinds import is_called_with_items as is_called_with_items
from .kinds import is_container as is_container
from .kinds import is_dataclass_mapping as is_dataclass_mapping
from .kinds import is_like as is_like
from .kinds import is_namedtuple as is_namedtuple
from .kinds import is_stand_in as is_stand_in
from .kinds import maker_of as maker_of
from .kinds import parts_of as parts_of
from .kinds import plain_class as plain_class
from .kinds import register_container as register_container
from .kinds import registered_class as registered_class
from .kinds import stand_in as stand_in
from .tree import AppendOnly as AppendOnly
from .tree import Branch as Branch
from .tree import Fixed as Fixed
from .tree import Leaf as Leaf
from .tree import Path as Path
from .tree import Static as Static
from .tree import Tree as Tree
from .tree import TypedLeaf as TypedLeaf
from .tree import call_of as call_of
from .tree import child_of as child_of
from .tree import classes as classes
from .tree import containers as containers
from .tree import count_leaves as count_leaves
from .tree import entries_of as entries_of
from .tree import flatten as flatten
from .tree import in_order_of as in_order_of
from .tree import is_plain_nest as is_plain_nest
from .tree import items_of as items_of
from .tree import iterate_structure as iterate_structure
from .tree import leaf as leaf
from .tree import leaves_at as leaves_at
from .tree import leaves_of as leaves_of
from .tree import likeness as likeness
from .tree import map_leaves as map_leaves
from .tree import map_structure as map_structure
from .tree import paths as paths
from .tree import plain_classes as plain_classes
from .tree import same_keys as same_keys
from .tree import same_static as same_static
from .tree import same_structure as same_structure
from .tree import static_objects as static_objects
from .tree import static_paths as static_paths
from .tree import statics as statics
from .tree import terminals as terminals
from .tree import unfixed as unfixed
from .tree import unflatten as unflatten
