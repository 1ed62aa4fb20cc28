"""Families of random models that read images between their points, for differential.py."""

import numpy as np


def resized(r):
    mode = r.pick("nearest", "linear", "cubic")
    place = r.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    x = r.floats(r.size(1, 2), r.size(1, 3), *r.sizes(2, 2, 8))
    attributes = dict(mode=mode, coordinate_transformation_mode=place)
    if mode == "nearest":
        attributes["nearest_mode"] = r.pick("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = r.pick(-0.75, -0.5)
        attributes["exclude_outside"] = r.size(0, 1)
    feeds = {"x": x, "roi": None}
    # Powers of two: places that lie between two points by the rounding of a factor are nobody's truth.
    factor = lambda: r.pick(0.5, 1.0, 2.0, 4.0)
    feeds["scales"] = np.array([1, 1, factor(), factor()], np.float32)
    return "Resize", feeds, attributes, 1, 18


def sampled(r):
    mode = r.pick("linear", "nearest", "cubic")
    x = r.floats(r.size(1, 2), r.size(1, 3), *r.sizes(2, 1, 7))
    grid = r.rng.uniform(-1.3, 1.3, (x.shape[0], *r.sizes(2, 1, 6), 2)).astype(np.float32)
    attributes = dict(mode=mode, padding_mode=r.pick("zeros", "border", "reflection"), align_corners=r.size(0, 1))
    return "GridSample", {"x": x, "grid": grid}, attributes, 1, 20


def regions(r):
    """RoiAlign and MaxRoiPool."""
    maps, count = r.size(1, 3), r.size(1, 5)
    x = r.floats(maps, r.size(1, 3), *r.sizes(2, 4, 12))
    near = r.rng.uniform(0, 10, (count, 2))
    boxes = np.concatenate([near, near + r.rng.uniform(-1, 9, (count, 2))], axis=1).astype(np.float32)
    of = r.rng.integers(0, maps, count)
    scale = r.pick(1.0, 0.5, 0.25)
    if r.pick(True, False):
        boxes = np.concatenate([of[:, None].astype(np.float32), boxes], axis=1)
        return "MaxRoiPool", {"x": x, "rois": boxes}, dict(pooled_shape=r.sizes(2, 1, 5), spatial_scale=scale), 1
    attributes = dict(output_height=r.size(1, 4), output_width=r.size(1, 4), sampling_ratio=r.size(0, 3), spatial_scale=scale,
                      mode=r.pick("avg", "max"), coordinate_transformation_mode=r.pick("half_pixel", "output_half_pixel"))
    return "RoiAlign", {"x": x, "rois": boxes, "batch_indices": of.astype(np.int64)}, attributes, 1, 16


FAMILIES = (resized, sampled, regions)
