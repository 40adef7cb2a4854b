"""A small evaluation: records in a cluster, three trees, two workloads."""

from __future__ import annotations

import numpy as np

import spatialdp as sdp
from spatialdp import workload

DOMAIN = sdp.Domain((0, 0, 1, 1))
RANDOM = np.random.default_rng(4)
XY = np.vstack([RANDOM.normal(0.3, 0.05, (1500, 2)), RANDOM.random((500, 2))])
BOXES = workload.random_boxes(DOMAIN, 80, seed=2)
CELLS = workload.random_boxes(DOMAIN, 400, seed=3, shape=(32, 32))
SHAPE = (32, 32)
TREES = [sdp.Quadtree(5), sdp.KdTree(4), sdp.Fourier(SHAPE)]


def run(mechanisms=TREES, xy=XY, queries=BOXES, epsilons=(0.1, 2), trials=3, **options):
    return sdp.evaluate(mechanisms, xy, DOMAIN, queries, epsilons, trials, **options)


def mean(frame, metric, **wanted):
    held = frame[frame["metric"] == metric]
    for name, value in wanted.items():
        held = held[held[name] == value]
    return held["value"].mean()
