// How large is the noise in a box of a grid? Its second and fourth cumulants, as in estimates/grid_noise.py.

import { changed } from "./borders.mjs";
import { blockPowers, coverage, knotWeights, weightedSum } from "./lattice.mjs";

/**
 * The noise model of a grid: a function of the coverage of columns and of rows, and of the cut cells on the region's
 * border. `cells` are the prefix sums of the region's cells.
 */
export function noiseModel(noise, grid, cells) {
  const models = {
    independent: () => independent(noise, grid.nx, cells),
    shared: () => shared(noise, grid.nx, cells),
    separable: () => withBorder(separable(noise, grid), grid),
    "quadtree-haar": () => withBorder(quadHaar(noise, grid), grid),
  };
  return models[noise.kind]();
}

/** Independent noise of one law in every cell of the region. */
function independent({ variance, kurtosis }, nx, cells) {
  return (x, y, cuts) => {
    const squares = Math.max(Math.max(weightedSum(cells, nx, x, y, 2), 0) + changed(cuts, 2), 0);
    const fourths = Math.max(Math.max(weightedSum(cells, nx, x, y, 4), 0) + changed(cuts, 4), 0);
    return [variance * squares, kurtosis * variance ** 2 * fourths];
  };
}

/** One noise, spread evenly over the cells of the region. */
function shared({ variance, kurtosis }, nx, cells) {
  const count = cells[cells.length - 1];
  return (x, y, cuts) => {
    const share = Math.max(weightedSum(cells, nx, x, y, 1) + changed(cuts, 1), 0) / count;
    return [variance * share ** 2, kurtosis * variance ** 2 * share ** 4];
  };
}

/**
 * Noise of cells that depend on each other, if a box cuts border cells. The covariance of a box and a cell that it cuts
 * is taken to lie between 0 and what it is for independent cells; the larger variance counts. The library is exact.
 */
function withBorder(cumulants, { nx, ny }) {
  return (x, y, cuts) => {
    let [second, fourth] = cumulants(x, y);
    for (const { cell, plain, covered } of cuts) {
      const [own, ownFourth] = cumulants(coverage(cell[0], cell[2], nx), coverage(cell[1], cell[3], ny));
      second += covered > plain ? (covered ** 2 - plain ** 2) * own : (covered - plain) ** 2 * own;
      fourth += covered > plain ? (covered ** 4 - plain ** 4) * ownFourth : (covered - plain) ** 4 * ownFourth;
    }
    return [second, fourth];
  };
}

/** Noise of measurements that are products over the axes. */
function separable({ x: xAxis, y: yAxis, variances, kurtosis }, { nx, ny }) {
  const along = axisPowers(xAxis, nx);
  const up = axisPowers(yAxis ?? xAxis, ny); // the page leaves y out if both axes are alike
  const fourthOf = variances.map((row, i) => row.map((variance, j) => kurtosis[i][j] * variance ** 2));
  return (x, y) => {
    const [x2, x4] = along(x);
    const [y2, y4] = up(y);
    return [bilinear(x2, variances, y2), bilinear(x4, fourthOf, y4)];
  };
}

function bilinear(left, matrix, right) {
  let total = 0;
  for (let i = 0; i < left.length; i++) {
    let row = 0;
    for (let j = 0; j < right.length; j++) row += matrix[i][j] * right[j];
    total += left[i] * row;
  }
  return Math.max(total, 0);
}

/** A function from the coverage of an axis to sums of squares and of fourth powers of weights, for each group. */
function axisPowers(axis, size) {
  const kinds = {
    identity: () => identityPowers,
    haar: () => (covered) => haarPowers(covered, size),
    windows: () => (covered) => windowPowers(axis, size, covered),
    prefixes: () => (covered) => prefixPowers(axis, covered),
  };
  return cached(kinds[axis.kind]());
}

/** Cache a function of coverages: cells in one row or column have the same coverage along an axis. */
function cached(powers) {
  const results = new Map(); // from the start of a coverage, then from its stop
  return (covered) => {
    if (results.size > 20000) results.clear();
    let sameStart = results.get(covered.start);
    if (!sameStart) results.set(covered.start, (sameStart = new Map()));
    let result = sameStart.get(covered.stop);
    if (!result) {
      if (sameStart.size > 20000) sameStart.clear();
      sameStart.set(covered.stop, (result = powers(covered)));
    }
    return result;
  };
}

function identityPowers({ knots, parts }) {
  const sum = (power) => parts.reduce((total, part, i) => total + part ** power * (knots[i + 1] - knots[i]), 0);
  return [[sum(2)], [sum(4)]];
}

/** Number of scales of a Haar axis: the least h with 2^h >= size. */
function scalesOf(size) {
  return size > 1 ? 32 - Math.clz32(size - 1) : 0;
}

/** Haar wavelet: the total first, then the scales from the coarsest; only nodes that hold an end of the box enter. */
function haarPowers({ start, stop }, size) {
  const levels = scalesOf(size);
  const share = (stop - start) / 2 ** levels;
  const squares = [share ** 2];
  const fourths = [share ** 4];
  for (let j = 0; j < levels; j++) {
    const length = 2 ** (levels - j);
    const first = Math.floor(start / length) * length;
    const last = Math.floor(stop / length) * length;
    const one = tilt(first, length, start, stop);
    const other = first === last ? 0 : tilt(last, length, start, stop);
    squares.push(one ** 2 + other ** 2);
    fourths.push(one ** 4 + other ** 4);
  }
  return [squares, fourths];
}

/** Covered part of a node's left half minus that of its right half, divided by the node's length. */
function tilt(node, length, start, stop) {
  const clip = (at) => Math.min(Math.max(at, start), stop);
  return (2 * clip(node + length / 2) - clip(node) - clip(node + length)) / length;
}

/** Measurements of single cells, with weights, and of windows over them, fitted by least squares. */
function windowPowers({ diagonal, windows, gains }, size, { start, stop }) {
  const [from, to] = [Math.floor(start), Math.min(Math.ceil(stop), size)];
  const rest = new Float64Array(size);
  for (let i = from; i < to; i++) rest[i] = Math.min(stop, i + 1) - Math.max(start, i);
  const shared = [];
  for (let row = 0; row < windows.length; row += size) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += gains[row + i] * rest[i];
    shared.push(sum);
  }
  for (let w = 0; w < shared.length; w++) {
    for (let i = 0; i < size; i++) rest[i] -= shared[w] * windows[w * size + i];
  }
  for (let i = 0; i < size; i++) rest[i] /= diagonal[i];
  const [cells, sums] = [sumPowers(rest), sumPowers(shared)];
  return [[cells[0] + sums[0]], [cells[1] + sums[1]]];
}

function sumPowers(weights) {
  let squares = 0;
  let fourths = 0;
  for (const weight of weights) {
    squares += weight ** 2;
    fourths += weight ** 4;
  }
  return [squares, fourths];
}

/** Any measurements, by their weights in the sums of the first cells; `edges` are the ends of the groups. */
function prefixPowers({ prefixes, edges }, covered) {
  const count = edges[edges.length - 1];
  const weights = knotWeights(covered, 1);
  const squares = [];
  const fourths = [];
  for (let group = 0; group + 1 < edges.length; group++) {
    const contributions = [];
    for (let c = edges[group]; c < edges[group + 1]; c++) {
      contributions.push(covered.knots.reduce((sum, knot, k) => sum + weights[k] * prefixes[knot * count + c], 0));
    }
    const [two, four] = sumPowers(contributions);
    squares.push(two);
    fourths.push(four);
  }
  return [squares, fourths];
}

/** The non-standard Haar wavelet: differences along x, y and both, for each node of a quadtree. */
function quadHaar({ variances, kurtosis }, { nx, ny }) {
  const along = cached((covered) => tiltsAndMeans(covered, nx));
  const up = cached((covered) => tiltsAndMeans(covered, ny));
  return (x, y) => {
    const [squares, fourths] = [0, 1].map((which) => quadGroups(along(x)[which], up(y)[which]));
    const sum = (weights, factor) => Math.max(weights.reduce((total, weight, g) => total + factor(g) * weight, 0), 0);
    return [sum(squares, (g) => variances[g]), sum(fourths, (g) => kurtosis[g] * variances[g] ** 2)];
  };
}

/** Powers of tilts and of mean coverages, by the binary logarithm of a node's side; squares, then fourth powers. */
function tiltsAndMeans(covered, size) {
  return haarPowers(covered, size).map((byScale, which) => {
    const means = byScale.map((_, scale) =>
      blockPowers(covered.start / 2 ** scale, covered.stop / 2 ** scale, which ? 4 : 2),
    );
    return { tilts: [0, ...byScale.slice(1).reverse()], means };
  });
}

function quadGroups(x, y) {
  const topX = x.means.length - 1;
  const topY = y.means.length - 1;
  const groups = [x.means[topX] * y.means[topY]];
  for (let scale = Math.max(topX, topY); scale > 0; scale--) {
    const [i, j] = [Math.min(scale, topX), Math.min(scale, topY)];
    if (scale <= topX) groups.push(x.tilts[i] * y.means[j]);
    if (scale <= topY) groups.push(x.means[i] * y.tilts[j]);
    if (scale <= topX && scale <= topY) groups.push(x.tilts[i] * y.tilts[j]);
  }
  return groups;
}
