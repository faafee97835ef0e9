"""Samples of manipulation: reshaping, permuting, broadcasting, joining, slicing, padding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import ErrorSample, Sample, array, bools, ints


def _shapes() -> list[Sample]:
    x, other = array(2, 3, 4), array(5, 3, 4)
    return [
        Sample(torch.Tensor.view, (x, 6, 4)),
        Sample(torch.Tensor.view, (x, -1, 4), other=(other, -1, 4)),
        Sample(torch.Tensor.view, (x, (2, 12))),
        Sample(torch.Tensor.view, (x, -1), other=(other, -1)),
        Sample(torch.Tensor.view, (x, 2, -1, 2, 2)),
        Sample(torch.Tensor.view, (array(), 1, 1)),
        Sample(torch.Tensor.view, (array(0, 3), 3, 0)),
        Sample(torch.Tensor.view, (x, torch.int32), other=(other, torch.int32)),
        Sample(torch.Tensor.view, (x, torch.int16), other=(other, torch.int16)),
        Sample(torch.Tensor.view, (array(2, 4, dtype="float16"), torch.float32)),
        Sample(torch.Tensor.view, (bools(2, 4), torch.uint8)),
        Sample(torch.reshape, (x, (4, -1))),
        Sample(torch.reshape, (x, (2, 1, 3, 4)), name="reshape"),
        Sample(torch.Tensor.reshape, (x, 3, 8)),
        Sample(torch.Tensor.view_as, (x, array(6, 4))),
        Sample(torch.Tensor.reshape_as, (x, array(4, 6)), other=(other, array(10, 6))),
        Sample(torch.flatten, (x,), other=(other,)),
        Sample(torch.flatten, (x, 1), other=(other, 1)),
        Sample(torch.flatten, (x,), {"start_dim": -2, "end_dim": -1}, other=(other,)),
        Sample(torch.flatten, (array(),)),
        Sample(torch.ravel, (x,), other=(other,)),
        Sample(torch.unflatten, (array(2, 12), 1, (3, -1)), other=(array(3, 15), 1, (3, -1))),
        Sample(torch.unflatten, (array(2, 12), -1, (2, 2, 3))),
        Sample(torch.unsqueeze, (x, 0), other=(other, 0)),
        Sample(torch.unsqueeze, (x, -1), other=(other, -1)),
        Sample(torch.unsqueeze, (x, 2), other=(other, 2)),
        Sample(torch.unsqueeze, (array(), 0)),
        Sample(torch.squeeze, (array(2, 1, 3, 1),), other=(array(4, 1, 5, 1),)),
        Sample(torch.squeeze, (array(2, 1, 3, 1), 1), other=(array(4, 1, 5, 1), 1)),
        Sample(torch.squeeze, (array(2, 1, 3, 1), (1, -1))),
        Sample(torch.squeeze, (array(2, 1, 3), 0), other=(array(4, 1, 5), 0)),
        Sample(torch.squeeze, (array(1, 1),)),
        Sample(torch.atleast_1d, (array(),)),
        Sample(torch.atleast_2d, (array(3),), other=(array(5),)),
        Sample(torch.atleast_3d, (array(2, 3),), other=(array(5, 4),)),
        Sample(torch.atleast_3d, (array(3),)),
        Sample(torch.atleast_2d, (array(), array(2), array(2, 2))),
    ]


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.T


def _orders() -> list[Sample]:
    x, other = array(2, 3, 4), array(5, 6, 7)
    return [
        Sample(torch.permute, (x, (2, 0, 1)), other=(other, (2, 0, 1))),
        Sample(torch.Tensor.permute, (x, 0, 2, 1), other=(other, 0, 2, 1)),
        Sample(torch.Tensor.permute, (x, -1, 0, -2)),
        Sample(torch.transpose, (x, 0, 1), other=(other, 0, 1)),
        Sample(torch.transpose, (x, -1, -2), other=(other, -1, -2)),
        Sample(torch.transpose, (array(), 0, -1)),
        Sample(torch.swapaxes, (x, 0, 2)),
        Sample(torch.swapdims, (x, 1, 1)),
        Sample(torch.t, (array(2, 3),), other=(array(4, 3),)),
        Sample(torch.t, (array(3),)),
        Sample(transposed, (array(2, 3),), name="T"),
        Sample(torch.adjoint, (array(2, 3, dtype="complex64"),)),
        Sample(torch.adjoint, (x,)),
        Sample(torch.movedim, (x, 0, -1), other=(other, 0, -1)),
        Sample(torch.movedim, (x, (0, 1), (2, 0))),
        Sample(torch.moveaxis, (x, 2, 0)),
    ]


def _broadcasts() -> list[Sample]:
    return [
        Sample(torch.Tensor.expand, (array(3, 1), 3, 4), other=(array(3, 1), 3, 4)),
        Sample(torch.Tensor.expand, (array(3, 1), (2, -1, 4)), other=(array(5, 1), (2, -1, 4))),
        Sample(torch.Tensor.expand, (array(), 2, 3)),
        Sample(torch.Tensor.expand_as, (array(3, 1), array(2, 3, 4)), other=(array(2, 1), array(5, 2, 3))),
        Sample(torch.broadcast_to, (array(3), (2, 3))),
        Sample(torch.broadcast_tensors, (array(3, 1), array(4)), other=(array(2, 1), array(5))),
        Sample(torch.broadcast_tensors, (array(3, 1, 2), array(), array(5, 1))),
        Sample(torch.meshgrid, (array(2), array(3)), {"indexing": "ij"}, other=(array(4), array(5))),
        Sample(torch.meshgrid, (array(2), array(3), array(4)), {"indexing": "xy"}),
        Sample(torch.meshgrid, ([array(2), array()],), {"indexing": "ij"}),
    ]


def _elements() -> list[Sample]:
    x, other = array(3, 4), array(5, 6)
    samples = [
        Sample(torch.Tensor.repeat, (x, 2, 3), other=(other, 2, 3)),
        Sample(torch.Tensor.repeat, (x, (2, 1, 3))),
        Sample(torch.Tensor.repeat, (x, 0, 1)),
        Sample(torch.tile, (x, (2,)), other=(other, (2,))),
        Sample(torch.tile, (x, (2, 1, 2))),
        Sample(torch.repeat_interleave, (x, 2), other=(other, 2)),
        Sample(torch.repeat_interleave, (x, 3), {"dim": 1}, other=(other, 3)),
        Sample(torch.repeat_interleave, (x, torch.tensor([1, 0, 2])), {"dim": 0}),
        Sample(torch.repeat_interleave, (x, torch.tensor([1, 0, 2, 2])), {"dim": -1, "output_size": 5}),
        Sample(torch.repeat_interleave, (x, torch.tensor([2])), {"dim": 0}),
        Sample(torch.repeat_interleave, (torch.tensor([1, 0, 3]),)),
        Sample(torch.roll, (x, 1), other=(other, 1)),
        Sample(torch.roll, (x, -1, 0), other=(other, -1, 0)),
        Sample(torch.roll, (x, (1, -2), (0, 1)), other=(other, (1, -2), (0, 1))),
        Sample(torch.roll, (x, 7, -1)),
        Sample(torch.flip, (x, (0,)), other=(other, (0,))),
        Sample(torch.flip, (x, (0, -1)), other=(other, (0, -1))),
        Sample(torch.flip, (array(2, 3, 4), (-1,))),
        Sample(torch.fliplr, (x,)),
        Sample(torch.flipud, (x,)),
        Sample(torch.Tensor.unfold, (array(7, 2), 0, 3, 2), other=(array(12, 3), 0, 3, 2)),
        Sample(torch.Tensor.unfold, (array(2, 7, 3), 1, 3, 1), other=(array(2, 9, 3), 1, 3, 1)),
        Sample(torch.Tensor.unfold, (array(2, 8), -1, 4, 4)),
        Sample(torch.as_strided, (array(4, 5), (2, 3), (5, 1), 6)),
        Sample(torch.as_strided, (array(12), (3, 4), (2, 1))),
        Sample(torch.combinations, (array(4),)),
        Sample(torch.combinations, (array(3), 3, True)),
        Sample(torch.combinations, (array(1),)),
        Sample(torch.combinations, (bools(1),), name="combinations of a truth value"),
        Sample(torch.cartesian_prod, (array(2), array(3)), other=(array(3), array(2))),
        Sample(torch.cartesian_prod, (array(3),)),
    ]
    return samples + [
        Sample(torch.rot90, (array(2, 3, 4), k, dims))
        for k, dims in ((1, (0, 1)), (-1, (1, 2)), (2, (0, 2)), (4, (0, 1)), (3, (2, 0)))
    ]


def _joins() -> list[Sample]:
    x, y = array(2, 3), array(4, 3)
    pair, other = (array(2, 3), array(2, 3)), (array(4, 5), array(4, 5))
    samples = [
        Sample(torch.cat, ((x, y),), other=((array(1, 2), array(5, 2)),)),
        Sample(torch.cat, ([array(2, 3), array(2, 1), array(2, 4)],), {"dim": -1}),
        Sample(torch.cat, ((x, ints(1, 3)),)),
        Sample(torch.cat, ((array(0), x),)),
        Sample(torch.cat, ((x,),)),
        Sample(torch.concat, ((array(2), array(3)),)),
        Sample(torch.stack, (pair,), other=(other,)),
        Sample(torch.stack, (pair,), {"dim": 1}, other=(other,)),
        Sample(torch.stack, (pair,), {"dim": -1}),
        Sample(torch.stack, ((array(), array(), array()),)),
        Sample(torch.block_diag, (x, array(2), array()), other=(y, array(3), array())),
    ]
    for function in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack):
        samples.append(Sample(function, ((array(3), array(3)),), other=((array(4), array(4)),)))
        samples.append(Sample(function, (pair,), other=(other,)))
    return samples


def _cuts() -> list[Sample]:
    x, other = array(6, 4), array(8, 4)
    return [
        Sample(torch.split, (x, 2), other=(array(6, 7), 2)),
        Sample(torch.split, (x, 4), other=(array(7, 5), 4)),
        Sample(torch.split, (x, 9)),
        Sample(torch.split, (x, [1, 2, 3])),
        Sample(torch.split, (x, (3, 1)), {"dim": 1}, other=(other, (3, 1))),
        Sample(torch.split, (x, [4]), {"dim": -1}),
        Sample(torch.chunk, (x, 3), other=(array(9, 2), 3)),
        Sample(torch.chunk, (array(7, 4), 4), other=(array(7, 2), 4)),
        Sample(torch.chunk, (x, 2), {"dim": -1}, other=(other, 2)),
        Sample(torch.chunk, (array(2, 3), 5)),
        Sample(torch.tensor_split, (x, 4), other=(other, 4)),
        Sample(torch.tensor_split, (x, (1, 4)), other=(other, (1, 4))),
        Sample(torch.tensor_split, (x, (-1, 9)), {"dim": 1}),
        Sample(
            lambda x: torch.tensor_split(x, torch.tensor([1, 3])),
            (x,),
            other=(other,),
            name="tensor_split_at_constant",
        ),
        Sample(torch.tensor_split, (x, ints(2, low=1, high=3)), name="tensor_split_at_array"),
        Sample(torch.hsplit, (x, 2), other=(other, 2)),
        Sample(torch.hsplit, (array(4), 2)),
        Sample(torch.vsplit, (x, (2, 3)), other=(other, (2, 3))),
        Sample(torch.dsplit, (array(2, 3, 4), 2)),
        Sample(torch.unbind, (array(3, 2),), other=(array(3, 5),)),
        Sample(torch.unbind, (array(2, 3), -1)),
        Sample(torch.unbind, (array(2, 6), 1)),
        Sample(torch.unbind, (array(1, 3),)),
        Sample(torch.select, (x, 0, 2), other=(other, 0, 2)),
        Sample(torch.select, (x, 1, -1), other=(other, 1, -1)),
        Sample(torch.narrow, (x, 0, 1, 3), other=(other, 0, 1, 3)),
        Sample(torch.narrow, (x, 1, -2, 2)),
        Sample(torch.narrow, (x, 0, torch.tensor(2), 3)),
    ]


def _pads() -> list[Sample]:
    x, other = array(2, 3, 4), array(1, 5, 6)
    cases: list[tuple[Any, dict[str, Any]]] = [
        ((1, 2), {}), ((1, 0, 0, 2), {}), ((1, 1, 2, 2, 0, 3), {"value": 1.5}), ((0, 0), {}), ((-1, 2), {}),
        ((-1, -1, 2, -1), {"value": -3.0}),
        ((1, 2), {"mode": "reflect"}), ((1, 2), {"mode": "replicate"}), ((1, 2), {"mode": "circular"}),
        ((-1, 2), {"mode": "reflect"}), ((-1, 2), {"mode": "replicate"}), ((-1, 2), {"mode": "circular"}), ((2, -1), {"mode": "circular"}),
    ]  # fmt: skip
    samples = [Sample(F.pad, (x, amounts), options, other=(other, amounts)) for amounts, options in cases]
    image = array(1, 2, 4, 5)
    samples += [
        Sample(F.pad, (image, (1, 2, 2, 1)), {"mode": mode}, other=(array(2, 3, 6, 7), (1, 2, 2, 1)))
        for mode in ("reflect", "replicate", "circular")
    ]
    samples += [
        Sample(F.pad, (array(1, 1, 3, 4, 5), (1, 1, 2, 0, 1, 1)), {"mode": mode})
        for mode in ("reflect", "replicate", "circular")
    ]
    return [
        *samples,
        Sample(F.pad, (ints(3), (1, 1)), {"value": 7}),
        Sample(F.pad, (bools(3), (1, 1)), {"value": True}),
        Sample(F.pad, (bools(3), (0, 2))),
    ]


SAMPLES: list[Sample] = [*_shapes(), *_orders(), *_broadcasts(), *_elements(), *_joins(), *_cuts(), *_pads()]

ERRORS: list[ErrorSample] = []
