// What does a tree answer for a box, with how much noise, and which nodes does the map show? As
// estimates/decomposition.py and trees/tree_noise.py. trees/least_squares.py defines the symbols w, V, A and g.

import { RegionArea, borderCuts } from "./borders.mjs";
import { blockPowers, cellOf, coverage, isWhole, prefixSums, weightedSum } from "./lattice.mjs";
import { GridUnevenness, TreeUnevenness } from "./uneven.mjs";

/** The map shows the children of a node if they have, on average, at least this many square pixels. */
const SMALLEST = 6;

export class TreeEstimate {
  constructor(data) {
    Object.assign(this, { step: data.step, consistent: data.consistent, closed: data.closed });
    Object.assign(this, { wholeSteps: data.wholeSteps, tables: data.uneven, extrapolates: data.extrapolates });
    this.children = data.children;
    this.count = data.children.length;
    this.area = data.region && new RegionArea(data.region);
    this.placeNodes(data.boxes);
    this.values = data.consistent ? this.summed(data.values) : data.values;
    this.given = data.ownWeights && { own: data.ownWeights, share: data.shares };
    if (data.variances) this.readNoise(data.variances, data.kurtosis);
  }

  /** Find parents, first children, leaves below, depths and boxes; boxes come as differences from the parent's, side by side. */
  placeNodes(differences) {
    const n = this.count;
    this.parent = new Int32Array(n).fill(-1);
    this.firstChild = new Int32Array(n);
    this.leavesBelow = new Int32Array(n);
    this.depth = new Uint8Array(n);
    // Copies, because a page of a table reads the differences again for each of its maps.
    const sides = [0, 1, 2, 3].map((side) => differences.slice(side * n, (side + 1) * n));
    [this.west, this.south, this.east, this.north] = sides;
    let next = 1;
    for (let node = 0; node < n; node++) {
      this.firstChild[node] = next;
      for (const end = next + this.children[node]; next < end; next++) {
        this.parent[next] = node;
        this.depth[next] = this.depth[node] + 1;
        for (const side of sides) side[next] += side[node];
      }
    }
    for (let node = n - 1; node >= 0; node--) {
      if (this.children[node] === 0) this.leavesBelow[node] = 1;
      if (node) this.leavesBelow[this.parent[node]] += this.leavesBelow[node];
    }
  }

  /** Estimates of all nodes, from those of the leaves, which come in the order of the nodes. */
  summed(leaves) {
    const values = new Float64Array(this.count);
    let leaf = leaves.length;
    for (let node = this.count - 1; node >= 0; node--) {
      if (this.children[node] === 0) values[node] = leaves[--leaf];
      if (node) values[this.parent[node]] += values[node];
    }
    return values;
  }

  /** Read the noise of each node's measurement; an infinite variance says that the node was not measured. */
  readNoise(variances, kurtosis) {
    const each = (values, node) => (values.length === this.count ? values[node] : values[this.depth[node]]);
    this.variance = new Float64Array(this.count);
    this.ownFourth = new Float64Array(this.count);
    for (let node = 0; node < this.count; node++) {
      this.variance[node] = each(variances, node);
      this.ownFourth[node] = orZero(this.variance[node]) ** 2 * each(kurtosis, node);
    }
    if (!this.consistent || this.closed) return;
    if (this.given) this.fitGiven();
    else this.fit();
  }

  /** From the leaves up: w, the weight of a node's own count, and V and fourth cumulant of its subtree's estimate. */
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
    this.familyShare = this.up.map((up, node) => (node ? up / this.below[this.parent[node]] : 1));
  }

  /** The same with weights that were given before anything was measured; differences are shared by area. */
  fitGiven() {
    const n = this.count;
    this.up = new Float64Array(n);
    this.own = new Float64Array(n);
    this.fourth = new Float64Array(n);
    for (let node = n - 1; node >= 0; node--) {
      const own = this.children[node] ? this.given.own[node] : 1;
      this.own[node] = own;
      this.up[node] = own ** 2 * orZero(this.variance[node]) + (1 - own) ** 2 * this.up[node];
      this.fourth[node] = own ** 4 * this.ownFourth[node] + (1 - own) ** 4 * this.fourth[node];
      if (node) {
        this.up[this.parent[node]] += this.up[node];
        this.fourth[this.parent[node]] += this.fourth[node];
      }
    }
    this.familyShare = this.given.share;
  }

  /**
   * Covered share of a node, or of its part of the region. This runs for every node along a box's edges, so it makes no
   * arrays unless there is a region.
   */
  share(node, box) {
    if (this.area && this.cuts(node, box)) return this.area.share(box, this.boxOf(node));
    return this.plainShare(node, box);
  }

  plainShare(node, box) {
    const { west, south, east, north } = this;
    const across = Math.min(east[node], box[2]) - Math.max(west[node], box[0]);
    const high = Math.min(north[node], box[3]) - Math.max(south[node], box[1]);
    if (across <= 0 || high <= 0) return 0;
    return (across / (east[node] - west[node])) * (high / (north[node] - south[node]));
  }

  /** Whether some part of a node lies outside a box. */
  cuts(node, box) {
    const { west, south, east, north } = this;
    return west[node] < box[0] || south[node] < box[1] || east[node] > box[2] || north[node] > box[3];
  }

  boxOf(node) {
    return [this.west[node], this.south[node], this.east[node], this.north[node]];
  }

  /** Whether the walk goes on to a node's children: if the box cuts the node, or the node was not measured. */
  divides(node, box, share) {
    if (this.children[node] === 0) return false;
    if (share === 0 && !(this.area && this.plainShare(node, box) > 0)) return false;
    if (!this.consistent && this.unmeasured(node)) return true;
    return this.cuts(node, box);
  }

  unmeasured(node) {
    return this.variance !== undefined && this.variance[node] === Infinity;
  }

  /** Sums over the nodes at which the walk ends: covered counts, and second and fourth cumulants. */
  endSums(box) {
    const { children, firstChild, values, variance, ownFourth } = this;
    let [count, second, fourth] = [0, 0, 0];
    const open = [0];
    while (open.length) {
      const node = open.pop();
      const share = this.share(node, box);
      if (this.divides(node, box, share)) {
        for (let child = children[node] - 1; child >= 0; child--) open.push(firstChild[node] + child);
      } else if (share > 0) {
        count += share * values[node];
        if (this.consistent || variance === undefined) continue;
        second += share ** 2 * orZero(variance[node]);
        fourth += share ** 4 * ownFourth[node];
      }
    }
    return [count, second, fourth];
  }

  /** The nodes that the walk for a box visits, depth by depth, with children that the box does not touch. */
  walk(box) {
    const levels = [];
    let nodes = [0];
    let parents = [0];
    while (nodes.length) {
      const level = { nodes, parents, shares: new Float64Array(nodes.length), divided: new Uint8Array(nodes.length) };
      const below = [];
      const from = [];
      for (let place = 0; place < nodes.length; place++) {
        const node = nodes[place];
        const share = (level.shares[place] = this.share(node, box));
        if (!this.divides(node, box, share)) continue;
        level.divided[place] = 1;
        for (let child = 0; child < this.children[node]; child++) {
          below.push(this.firstChild[node] + child);
          from.push(place);
        }
      }
      levels.push(level);
      nodes = below;
      parents = from;
    }
    return levels;
  }

  /** Estimated count of a lattice box, as if records were spread evenly within each leaf. */
  answer(box) {
    return this.endSums(box)[0];
  }

  /** Variance and excess kurtosis of the noise in a box's answer. */
  moments(box) {
    if (this.consistent && this.closed) return closedMoments(this.closed, box);
    const [second, fourth] = this.consistent ? this.fittedCumulants(box) : this.endSums(box).slice(1);
    return [second, second > 0 ? fourth / second ** 2 : 0];
  }

  /** How much of each column and row a box covers, if the leaves are the cells of a grid; null if they are not. */
  covered(box) {
    if (!this.tables?.shape) return null;
    const [nx, ny] = this.tables.shape;
    return [coverage(box[0], box[2], nx), coverage(box[1], box[3], ny)];
  }

  /** Whether the noise in a box's answer is a whole multiple of the step. */
  inSteps(box) {
    return this.wholeSteps && (this.covered(box)?.every(isWhole) ?? false);
  }

  /** What uneven spread within cut leaves adds to the error of a box's answer. */
  allowance(box) {
    const covered = this.covered(box);
    if (covered?.every(isWhole)) return { variance: 0, shift: 0 };
    this.unevenness ??= covered ? this.leafUnevenness() : new TreeUnevenness(this.tables, this);
    if (!covered) return this.unevenness.allowance(box);
    // Boxes without a leaf have no allowance; prefix sums may give them one that is as small as rounding.
    const [nx, ny] = this.tables.shape;
    const leaves = weightedSum(this.leafSums, nx, ...covered, 1);
    if (!(leaves > 1e-9)) return { variance: 0, shift: 0 };
    const cuts = borderCuts(this.area, this.leafCells, nx, ny, box, ...covered);
    return { variance: this.unevenness.variance(...covered, cuts), shift: 0 };
  }

  /** Unevenness within leaves that are the cells of a grid. */
  leafUnevenness() {
    const [nx, ny] = this.tables.shape;
    const [values, leaves] = [new Float64Array(nx * ny), new Uint8Array(nx * ny)];
    let leaf = 0;
    for (let node = 0; node < this.count; node++) {
      if (this.children[node]) continue;
      const place = cellOf(this.south[node], ny) * nx + cellOf(this.west[node], nx);
      values[place] = this.tables.values ? this.tables.values[leaf++] : this.values[node];
      leaves[place] = 1;
    }
    this.leafCells = leaves;
    this.leafSums = prefixSums(leaves, nx, ny);
    return new GridUnevenness(this.tables, nx, ny, prefixSums(values, nx, ny), this.leafSums);
  }

  /** Up: A, the share of a node's estimate in the answer. Down: g, the weight of its subtree's estimate. */
  fittedCumulants(box) {
    const levels = this.walk(box);
    this.average(levels);
    let [second, fourth] = [0, 0];
    let passed = [0];
    for (const { nodes, parents, shares, divided } of levels) {
      const next = new Float64Array(nodes.length);
      for (let i = 0; i < nodes.length; i++) {
        const node = nodes[i];
        const weight = shares[i] + passed[parents[i]];
        if (divided[i]) {
          const own = this.own[node];
          second += (own * weight) ** 2 * orZero(this.variance[node]);
          fourth += (own * weight) ** 4 * this.ownFourth[node];
          next[i] = (1 - own) * weight - shares[i];
        } else {
          second += weight ** 2 * this.up[node];
          fourth += weight ** 4 * this.fourth[node];
        }
      }
      passed = next;
    }
    return [second, fourth];
  }

  /** Turn covered shares into A: for a divided node, the mean of its children's A, weighted by their family shares. */
  average(levels) {
    for (let depth = levels.length - 2; depth >= 0; depth--) {
      const { nodes, shares, divided } = levels[depth];
      const below = levels[depth + 1];
      const sums = new Float64Array(nodes.length);
      for (let i = 0; i < below.nodes.length; i++) {
        sums[below.parents[i]] += below.shares[i] * this.familyShare[below.nodes[i]];
      }
      for (let i = 0; i < nodes.length; i++) if (divided[i]) shares[i] = sums[i];
    }
  }

  /** Call `show` for the nodes in view: the deepest ones whose size on the screen is not below `SMALLEST`. */
  visit([left, bottom, right, top], [scaleX, scaleY], show) {
    const { west, south, east, north } = this;
    const open = [0];
    while (open.length) {
      const node = open.pop();
      if (west[node] > right || east[node] <= left || south[node] > top || north[node] <= bottom) continue;
      const area = (east[node] - west[node]) * scaleX * (north[node] - south[node]) * scaleY;
      if (this.children[node] && area >= SMALLEST * this.children[node]) {
        for (let child = 0; child < this.children[node]; child++) open.push(this.firstChild[node] + child);
      } else {
        show(this.cellFor(node));
      }
    }
  }

  cellFor(node) {
    const box = this.boxOf(node);
    const name = `${this.children[node] ? "Node" : "Leaf"} at depth ${this.depth[node]}`;
    // A node without a measurement has the sum of its children as estimate, even in trees that are not consistent.
    const estimate = !this.consistent && this.unmeasured(node) ? this.answer(box) : this.values[node];
    return { box, estimate, cells: this.leavesBelow[node], name };
  }
}

/** Noise in complete trees of whole blocks: closed form of the variance, and a close upper bound of the kurtosis. */
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

/** w: weight of a node's own measurement against the sum of its children; 1 for leaves, where `below` is infinite. */
function ownWeight(own, below) {
  return own === Infinity ? 0 : 1 / (1 + own / below);
}

function orZero(value) {
  return Number.isFinite(value) ? value : 0;
}
