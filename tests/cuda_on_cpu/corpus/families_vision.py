"""Detection and sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


def _corner(at: float, extent: int) -> tuple[int, int, float]:
    at = max(at, 0.0)
    low = int(at)
    return (extent - 1, extent - 1, 0.0) if low >= extent - 1 else (low, low + 1, at - low)


def _roi_sample(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """The four weighted corners [4, channels] at a point; zeros beyond one pixel outside."""
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.full((4, image.shape[0]), np.nan)
    (y0, y1, wy), (x0, x1, wx) = _corner(y, height), _corner(x, width)
    corners = [((1 - wy) * (1 - wx), y0, x0), ((1 - wy) * wx, y0, x1), (wy * (1 - wx), y1, x0), (wy * wx, y1, x1)]
    return np.stack([weight * image[:, row, column] for weight, row, column in corners])


@kernel((2, 3, 10, 13, 5, 7, 2, 1, 1), (1, 5, 9, 8, 3, 4, 0, 0, 1), (1, 3, 12, 12, 4, 5, 2, 0, 0))
def roi_align(
    rng: np.random.Generator,
    batch: int,
    channels: int,
    height: int,
    width: int,
    count: int,
    out: int,
    ratio: int,
    half_pixel: int,
    average: int,
) -> list[Any]:
    x = rng.standard_normal((batch, channels, height, width)).astype(np.float32)
    scale, offset = 0.5, 0.5 if half_pixel else 0.0
    corners = rng.uniform(-2, 2 * max(height, width), (count, 2))
    rois = np.concatenate([corners, corners + rng.uniform(1, 15, (count, 2))], 1).astype(np.float32)
    batches = rng.integers(0, batch, count).astype(np.int32)
    expected = np.zeros((count, channels, out, out))
    for roi in range(count):
        x1, y1, x2, y2 = rois[roi].astype(np.float64) * scale - offset
        box_width, box_height = x2 - x1, y2 - y1
        if not half_pixel:
            box_width, box_height = max(box_width, 1.0), max(box_height, 1.0)
        rows, columns = (ratio or int(np.ceil(size / out)) for size in (box_height, box_width))
        for oy, ox in np.ndindex(out, out):
            ys = y1 + (oy + (np.arange(rows) + 0.5) / rows) * box_height / out
            xs = x1 + (ox + (np.arange(columns) + 0.5) / columns) * box_width / out
            image = x[batches[roi]].astype(np.float64)
            samples = np.stack([_roi_sample(image, py, px) for py in ys for px in xs])
            if average:
                expected[roi, :, oy, ox] = np.nan_to_num(samples).sum(1).mean(0)
            else:
                kept = samples[~np.isnan(samples[:, 0, 0])]
                expected[roi, :, oy, ox] = kept.max((0, 1)) if kept.size else -np.inf
    # A coordinate of about `width` has an error of some units, which the difference of two pixels multiplies.
    output = near(expected, terms=16 * max(height, width), scale=4.0)
    flags = [scale, ratio, half_pixel, average]
    return [x, rois, batches, output, batch, channels, height, width, count, out, *flags]


def _reflected(x: np.ndarray, low: float, high: float) -> np.ndarray:
    span = high - low
    turned = np.mod(x - low, 2 * span)
    return np.where(turned > span, 2 * span - turned, turned) + low


@kernel(*[(2, 3, 7, 9, 130, mode, padding, (mode + padding) % 2) for mode in range(2) for padding in range(3)])
def grid_sample(
    rng: np.random.Generator,
    batch: int,
    channels: int,
    height: int,
    width: int,
    pixels: int,
    mode: int,
    padding: int,
    aligned: int,
) -> list[Any]:
    x = rng.standard_normal((batch, channels, height, width)).astype(np.float32)
    grid = rng.uniform(-1.6, 1.6, (batch, pixels, 2)).astype(np.float32)
    sources = []
    for axis, size in ((0, width), (1, height)):
        wide = grid[..., axis].astype(np.float64)
        at = (wide + 1) / 2 * (size - 1) if aligned else ((wide + 1) * size - 1) / 2
        if padding == 2:
            at = _reflected(at, *((0, size - 1) if aligned else (-0.5, size - 0.5)))
        sources.append(np.clip(at, 0, size - 1) if padding else at)
    at_x, at_y = sources

    def pixel(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        rows, columns = (np.where(inside, each, 0).astype(int) for each in (row, column))
        found = x[np.arange(batch)[:, None], :, rows, columns].astype(np.float64)
        return np.where(inside[..., None], found, 0)

    if mode:
        expected = pixel(np.rint(at_y), np.rint(at_x))
    else:
        x0, y0 = np.floor(at_x), np.floor(at_y)
        wx, wy = (at_x - x0)[..., None], (at_y - y0)[..., None]
        upper = pixel(y0, x0) * (1 - wx) + pixel(y0, x0 + 1) * wx
        lower = pixel(y0 + 1, x0) * (1 - wx) + pixel(y0 + 1, x0 + 1) * wx
        expected = upper * (1 - wy) + lower * wy
    output = near(expected.transpose(0, 2, 1), terms=8 * max(height, width), scale=4.0)
    return [x, grid, output, batch, channels, height, width, pixels, mode, padding, aligned]


@kernel((13, 17, 30, 21), (40, 33, 11, 19))
def bilinear_resize(rng: np.random.Generator, height: int, width: int, rows: int, columns: int) -> list[Any]:
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    mean, inverse = np.array([123.675, 116.28, 103.53], np.float32), 1 / np.array([58.4, 57.1, 57.4], np.float32)

    def taps(out: int, extent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.maximum((np.arange(out) + 0.5) * extent / out - 0.5, 0)
        first = np.minimum(at.astype(int), extent - 1)
        return first, np.minimum(first + 1, extent - 1), at - first

    (y0, y1, wy), (x0, x1, wx) = taps(rows, height), taps(columns, width)
    wide = image.astype(np.float64)
    across = wide[:, x0] * (1 - wx)[:, None] + wide[:, x1] * wx[:, None]
    both = across[y0] * (1 - wy)[:, None, None] + across[y1] * wy[:, None, None]
    expected = ((both - mean) * inverse).transpose(2, 0, 1)
    output = near(expected, np.float16, terms=8 * max(height, width), scale=255 / 50)
    return [image, mean, inverse.astype(np.float32), output, height, width, rows, columns]


@kernel((50,), (333,))
def nms_bitmask(rng: np.random.Generator, count: int) -> list[Any]:
    # Whole numbers: areas are exact in float. The threshold lies between the fractions they can form.
    corners = rng.integers(0, 60, (count, 2))
    boxes = np.concatenate([corners, corners + rng.integers(5, 30, (count, 2))], 1)
    threshold = 0.3333
    sizes = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]) - np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    both = np.maximum(sizes, 0).prod(2)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    union = areas[:, None] + areas - both
    assert (abs(both - threshold * union) > 1e-5 * union).all(), "too close to call"
    overlaps = both > threshold * union
    kept: list[int] = []
    for i in range(count):
        if not overlaps[i, kept].any():
            kept.append(i)
    expected = np.full(count, -1, np.int32)
    initial = expected.copy()
    expected[: len(kept)] = kept
    total = exact(np.array([len(kept)], np.int32))
    return [boxes.astype(np.float32), exact(expected, initial), total, count, threshold]


@kernel((2, 70, 33, 11, 13, 0), (1, 40, 64, 9, 8, 1))
def pillar_scatter(
    rng: np.random.Generator, batch: int, pillars: int, features: int, height: int, width: int, half: int
) -> list[Any]:
    dtype = np.float16 if half else np.float32
    values = rng.standard_normal((batch, pillars, features)).astype(dtype)
    counts = rng.integers(1, pillars + 1, batch).astype(np.uint32)
    coordinates = np.zeros((batch, pillars, 4), np.uint32)
    expected = np.zeros((batch, features, height, width), dtype)
    for b in range(batch):
        cells = rng.permutation(height * width)[:pillars]
        coordinates[b, :, 0], coordinates[b, :, 2], coordinates[b, :, 3] = b, cells // width, cells % width
        for p in range(counts[b]):
            expected[b, :, coordinates[b, p, 2], coordinates[b, p, 3]] = values[b, p]
    return [values, coordinates, counts, exact(expected), batch, pillars, features, height, width, half]


@kernel((2, 3, 5, 7, 4), (1, 2, 8, 11, 2))
def deformable_attention(
    rng: np.random.Generator, batch: int, heads: int, channels: int, queries: int, points: int
) -> list[Any]:
    shapes = np.array([[6, 7], [3, 4], [1, 2]], np.int32)
    levels = len(shapes)
    lengths = shapes.prod(1)
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    length = int(lengths.sum())
    values = rng.standard_normal((batch, length, heads, channels)).astype(np.float32)
    locations = rng.uniform(-0.2, 1.2, (batch, queries, heads, levels, points, 2)).astype(np.float32)
    weights = rng.uniform(0, 1, (batch, queries, heads, levels, points)).astype(np.float32)
    expected = np.zeros((batch, queries, heads, channels))
    for b, q, h, level, p in np.ndindex(*weights.shape):
        height, width = shapes[level]
        picture = values[b, starts[level] : starts[level] + lengths[level], h].reshape(height, width, channels)
        padded = np.pad(picture.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
        x, y = locations[b, q, h, level, p].astype(np.float64) * (width, height) - 0.5
        if not (-1 < x < width and -1 < y < height):
            continue
        x0, y0 = int(np.floor(x)), int(np.floor(y))
        patch = padded[y0 + 1 : y0 + 3, x0 + 1 : x0 + 3]
        taps = np.outer([1 - (y - y0), y - y0], [1 - (x - x0), x - x0])[:, :, None]
        expected[b, q, h] += weights[b, q, h, level, p] * (patch * taps).sum((0, 1))
    sizes = [batch, length, heads, channels, levels, queries, points]
    return [values, shapes, starts, locations, weights, near(expected, terms=levels * points * 8, scale=4.0), *sizes]


@kernel((1000, 5), (77, 3))
def box_decode(rng: np.random.Generator, anchors: int, classes: int) -> list[Any]:
    logits = rng.standard_normal((anchors, classes)).astype(np.float32)
    deltas = rng.standard_normal((anchors, 4)).astype(np.float32)
    boxes = np.concatenate([rng.uniform(0, 100, (anchors, 2)), rng.uniform(1, 20, (anchors, 2))], 1).astype(np.float32)
    threshold = 0.75
    scores = 1 / (1 + np.exp(-logits.max(1).astype(np.float64)))
    kept = scores >= threshold
    assert np.abs(scores - threshold).min() > 1e-6
    wide = deltas.astype(np.float64) * (0.1, 0.1, 0.2, 0.2)
    centre, size = wide[:, :2] * boxes[:, 2:] + boxes[:, :2], np.exp(wide[:, 2:]) * boxes[:, 2:]
    decoded = np.where(kept[:, None], np.concatenate([centre - size / 2, centre + size / 2], 1), 0)
    outputs = [
        near(decoded, initial=np.zeros((anchors, 4))),
        near(np.where(kept, scores, 0), initial=np.zeros(anchors)),
        exact(np.where(kept, logits.argmax(1), -1).astype(np.int32), np.full(anchors, -1, np.int32)),
        exact(np.array([kept.sum()], np.int32)),
    ]
    return [logits, deltas, boxes, *outputs, anchors, classes, threshold]
