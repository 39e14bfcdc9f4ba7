"""The test networks: each family makes models from a signature and computes their expected outputs."""

from __future__ import annotations

from pluginkit.testing.families import cond, loop, nested, nested_if, plain, scan, shape_values, shaped
from pluginkit.testing.families.api import cond as api_cond
from pluginkit.testing.families.api import cond_constant as api_cond_constant
from pluginkit.testing.families.api import iterators as api_iterators
from pluginkit.testing.families.api import loop as api_loop
from pluginkit.testing.families.api import shape as api_shape
from pluginkit.testing.families.api import shaped as api_shaped
from pluginkit.testing.families.api import unused as api_unused
from pluginkit.testing.families.family import Family

FAMILIES: dict[str, Family] = {
    family.NAME: family
    for family in (
        plain.Plain(),
        plain.Chain(),
        shaped.ShapeOut(),
        shaped.ShapeIn(),
        shape_values.ShapeValues(),
        shaped.MultiProfile(),
        loop.LoopCount(),
        loop.LoopWhile(),
        loop.LoopZeroTrips(),
        loop.LoopInvariant(),
        scan.ScanForward(),
        scan.ScanReverseInput(),
        scan.ScanReverseOutput(),
        scan.ScanAxis(),
        cond.CondBoth(),
        cond.CondThen(),
        cond.CondElse(),
        cond.CondComputed(),
        nested.IfInLoop(),
        nested.LoopInIf(),
        nested.LoopInLoop(),
        nested_if.IfInIf(),
        api_shape.ShapeByApi(),
        api_shaped.SliceByTensors(),
        api_shaped.ResizeByTensor(),
        api_shaped.ShapeArithmetic(),
        api_loop.LoopByCount(),
        api_loop.LoopByWhile(),
        api_loop.LoopByBoth(),
        api_loop.IteratorForward(),
        api_loop.Iterator1(),
        api_loop.IteratorReversed(),
        api_loop.Iterator1Reversed(),
        api_loop.Reverse(),
        api_loop.Reverse1(),
        api_iterators.IteratorAxes(),
        api_loop.ConcatLonger(),
        api_cond.CondLazy(),
        api_cond.CondEager(),
        api_cond.CondMixed(),
        api_cond.CondEmpty(),
        api_cond.CondSelect(),
        api_cond.CondShared(),
        api_cond_constant.CondConstant(),
        api_unused.Unused(),
    )
}
"""Every family by its name; `DESCRIPTION` is a sentence on what it is."""

__all__ = ["FAMILIES", "Family"]
