// Estimates on a tree of boxes: box answers, their noise, and the nodes a map shows.

import { LATTICE, blockPowers, coverage } from "./lattice.mjs";

/** A node is divided on the map while its children have this many square pixels each. */
const SMALLEST = 6;

export class TreeEstimate {
  constructor(data) {
    Object.assign(this, { step: data.step, consistent: data.consistent, closed: data.closed });
    this.children = data.children;
    this.count = data.children.length;
    this.lay(data.boxes);
    this.values = data.consistent ? this.summed(data.values) : data.values;
    if (data.variances) this.measure(data.variances, data.kurtosis);
  }

  /** Parents, first children, depths and boxes; these come as differences to the parent's, side by side. */
  lay(differences) {
    const n = this.count;
    this.parent = new Int32Array(n).fill(-1);
    this.firstChild = new Int32Array(n);
    this.depth = new Uint8Array(n);
    this.sides = [0, 1, 2, 3].map((side) => differences.slice(side * n, (side + 1) * n));
    let next = 1;
    for (let node = 0; node < n; node++) {
      this.firstChild[node] = next;
      for (const end = next + this.children[node]; next < end; next++) {
        this.parent[next] = node;
        this.depth[next] = this.depth[node] + 1;
        for (const side of this.sides) side[next] += side[node];
      }
    }
  }

  /** All nodes' estimates from the leaves', which come in the order of the nodes. */
  summed(leaves) {
    const values = new Float64Array(this.count);
    let leaf = leaves.length;
    for (let node = this.count - 1; node >= 0; node--) {
      if (this.children[node] === 0) values[node] = leaves[--leaf];
      if (node) values[this.parent[node]] += values[node];
    }
    return values;
  }

  /** Noise of each node's measurement; infinite variance says that there was none. */
  measure(variances, kurtosis) {
    const each = (values, node) => (values.length === this.count ? values[node] : values[this.depth[node]]);
    this.variance = new Float64Array(this.count);
    this.ownFourth = new Float64Array(this.count);
    for (let node = 0; node < this.count; node++) {
      this.variance[node] = each(variances, node);
      this.ownFourth[node] = orZero(this.variance[node]) ** 2 * each(kurtosis, node);
    }
    if (this.consistent && !this.closed) this.fit();
  }

  /** Going up: V of each subtree's best estimate of its root, its fourth cumulant, and w, the weight of the own count. */
  fit() {
    const n = this.count;
    this.below = new Float64Array(n).map((_, node) => (this.children[node] ? 0 : Infinity));
    this.up = new Float64Array(n);
    this.own = new Float64Array(n);
    this.fourth = new Float64Array(n);
    for (let node = n - 1; node >= 0; node--) {
      const own = ownWeight(this.variance[node], this.below[node]);
      const fourthBelow = this.fourth[node];
      this.own[node] = own;
      this.up[node] = 1 / (1 / this.variance[node] + 1 / this.below[node]);
      this.fourth[node] = own ** 4 * this.ownFourth[node] + (1 - own) ** 4 * fourthBelow;
      if (node) {
        this.below[this.parent[node]] += this.up[node];
        this.fourth[this.parent[node]] += this.fourth[node];
      }
    }
  }

  /** Covered share of a node. */
  share(node, box) {
    return this.along(0, node, box) * this.along(1, node, box);
  }

  along(axis, node, box) {
    const [low, high] = [this.sides[axis][node], this.sides[axis + 2][node]];
    return Math.max(Math.min(high, box[axis + 2]) - Math.max(low, box[axis]), 0) / (high - low);
  }

  /** Whether a node of which a share is covered is looked into: if it can be, and is cut or was not measured. */
  divides(node, box, share) {
    if (this.children[node] === 0 || share === 0) return false;
    const inside = this.along(0, node, box) === 1 && this.along(1, node, box) === 1;
    return !inside || (!this.consistent && this.unmeasured(node));
  }

  /** The nodes a box meets, depth by depth, those beside it included. */
  walk(box) {
    const levels = [];
    let nodes = [0];
    let parents = [0];
    while (nodes.length) {
      const level = { nodes, parents, shares: [], divided: [] };
      const below = [];
      const from = [];
      nodes.forEach((node, place) => {
        const share = this.share(node, box);
        const divided = this.divides(node, box, share);
        level.shares.push(share);
        level.divided.push(divided);
        if (!divided) return;
        for (let child = 0; child < this.children[node]; child++) {
          below.push(this.firstChild[node] + child);
          from.push(place);
        }
      });
      levels.push(level);
      nodes = below;
      parents = from;
    }
    return levels;
  }

  unmeasured(node) {
    return this.variance !== undefined && this.variance[node] === Infinity;
  }

  /** Sum of what the nodes weigh at which the way down ends. */
  endSum(box, weigh) {
    let total = 0;
    const open = [0];
    while (open.length) {
      const node = open.pop();
      const share = this.share(node, box);
      if (share === 0) continue;
      if (this.divides(node, box, share)) {
        for (let child = this.children[node] - 1; child >= 0; child--) open.push(this.firstChild[node] + child);
      } else {
        total += weigh(node, share);
      }
    }
    return total;
  }

  /** Estimated count of a lattice box; records are taken as evenly spread within a leaf. */
  answer(box) {
    return this.endSum(box, (node, share) => share * this.values[node]);
  }

  /** Variance and excess kurtosis of the noise in a box's answer. */
  moments(box) {
    if (this.consistent && this.closed) return closedMoments(this.closed, box);
    const [second, fourth] = this.consistent ? this.fittedCumulants(box) : this.rawCumulants(box);
    return [second, second > 0 ? fourth / second ** 2 : 0];
  }

  rawCumulants(box) {
    return [
      this.endSum(box, (node, share) => share ** 2 * orZero(this.variance[node])),
      this.endSum(box, (node, share) => share ** 4 * this.ownFourth[node]),
    ];
  }

  /** Up: A, the share of a node's estimate that enters the answer. Down: g, the weight of its subtree's estimate. */
  fittedCumulants(box) {
    const levels = this.walk(box);
    const averages = this.averages(levels);
    let second = 0;
    let fourth = 0;
    let passed = [];
    levels.forEach(({ nodes, parents, divided }, depth) => {
      const next = [];
      nodes.forEach((node, i) => {
        const weight = averages[depth][i] + (depth ? passed[parents[i]] : 0);
        const own = divided[i] ? this.own[node] : 1;
        const variance = divided[i] ? orZero(this.variance[node]) : this.up[node];
        second += (own * weight) ** 2 * variance;
        fourth += (own * weight) ** 4 * (divided[i] ? this.ownFourth[node] : this.fourth[node]);
        next.push((1 - own) * weight - averages[depth][i]);
      });
      passed = next;
    });
    return [second, fourth];
  }

  averages(levels) {
    const result = levels.map(({ shares }) => shares.slice());
    for (let depth = levels.length - 2; depth >= 0; depth--) {
      const { nodes, divided } = levels[depth];
      const sums = new Float64Array(nodes.length);
      levels[depth + 1].nodes.forEach((node, i) => {
        sums[levels[depth + 1].parents[i]] += result[depth + 1][i] * this.up[node];
      });
      nodes.forEach((node, i) => {
        if (divided[i]) result[depth][i] = sums[i] / this.below[node];
      });
    }
    return result;
  }

  /** Call `show` for each node in view, divided as far as its children can be seen. */
  visit([west, south, east, north], [scaleX, scaleY], show) {
    const [left, bottom, right, top] = this.sides;
    const open = [0];
    while (open.length) {
      const node = open.pop();
      if (left[node] > east || right[node] <= west || bottom[node] > north || top[node] <= south) continue;
      const area = (right[node] - left[node]) * scaleX * (top[node] - bottom[node]) * scaleY;
      if (this.children[node] && area >= SMALLEST * this.children[node]) {
        for (let child = 0; child < this.children[node]; child++) open.push(this.firstChild[node] + child);
      } else {
        show(this.shown(node));
      }
    }
  }

  shown(node) {
    const box = this.sides.map((side) => side[node]);
    const size = (1000 * ((box[2] - box[0]) / LATTICE) * (box[3] - box[1])) / LATTICE;
    const name = `${this.children[node] ? "Node" : "Leaf"} at depth ${this.depth[node]}`;
    // What is not measured is the sum of its parts, even where parents are not the sums of their children.
    const estimate = !this.consistent && this.unmeasured(node) ? this.answer(box) : this.values[node];
    return { box, estimate, size, name };
  }
}

/** Complete trees of whole blocks: closed form of the variance, and a close upper bound of the kurtosis. */
function closedMoments({ nx, ny, own, variances, kurtosis, sides, fanOuts }, box) {
  const x = coverage(box[0], box[2], nx);
  const y = coverage(box[1], box[3], ny);
  const area = (x.stop - x.start) * (y.stop - y.start);
  let [squares, largest, above, second, fourth] = [0, 0, 0, 0, 0];
  sides.forEach(([width, height], depth) => {
    const passed = depth ? 1 - own[depth - 1] : 0;
    const fanOut = depth ? fanOuts[depth - 1] : 0;
    const here =
      blockPowers(x.start / width, x.stop / width, 2) * blockPowers(y.start / height, y.stop / height, 2);
    squares = here - fanOut * above + fanOut * passed ** 2 * squares;
    const deviation = Math.min(area / (width * height), depth ? 1 - 1 / fanOut : 1);
    largest = Math.min(deviation + passed * largest, 1);
    above = here;
    second += own[depth] ** 2 * variances[depth] * squares;
    fourth += own[depth] ** 4 * variances[depth] ** 2 * kurtosis[depth] * squares * largest ** 2;
  });
  const variance = Math.max(second, 0);
  const excess = variance > 0 ? Math.max(fourth, 0) / variance ** 2 : 0;
  return [variance, Math.min(excess, Math.max(...kurtosis))];
}

/** Weight of a node's own measurement against its children's sum; leaves have none, and are always measured. */
function ownWeight(own, below) {
  return own === Infinity ? 0 : 1 / (1 + own / below);
}

function orZero(value) {
  return Number.isFinite(value) ? value : 0;
}
