// What does uneven spread of records within cut cells or leaves add to an answer's error? As estimates/unevenness:
// the tables of heterogeneity and growth come with the page, and expected squares of counts are computed here.

import { changed } from "./borders.mjs";
import { LATTICE, knotSum, knotWeights, prefixSums } from "./lattice.mjs";

/** Mean and variance of a block's count, given those of its parent and the block's own noisy count. */
function posterior(mean, spread, share, uneven, noisy, variance) {
  const binomial = share * (1 - share);
  const positive = Math.max(mean, 0);
  const before = (positive ** 2 + spread) * binomial * uneven + positive * binomial + share ** 2 * spread;
  const both = before + variance;
  const known = both > 0 ? before / both : 0;
  const expected = share * mean;
  return [expected + known * (noisy - expected), known * variance];
}

/** Expected squared count, and a cautious expected count, of a block whose count is known up to a variance. */
function expectedSquares(mean, variance) {
  return [Math.max(mean, 0) ** 2 + variance, Math.max(mean, 0.3 * Math.sqrt(variance))];
}

/** Extra for boxes below half a cell, by their area in cells. */
function smallBox(area) {
  return area > 0 ? Math.max(1 / (2 * area) - 1, 0) : 0;
}

/** The growth of edges of some length: the table has it for 1, 2, 4, ... cells, to be joined by lines in log2. */
function grown(table, length) {
  const place = Math.min(Math.log2(Math.max(length, 1)), table.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, table.length - 1);
  return table[below] + (place - below) * (table[above] - table[below]);
}

/** How many leaves a box's edges cut in a row, from the shares of touched leaves that it misses, and covers. */
function edgeLength(missed, covered) {
  const both = Math.max(missed - 1, 2 * Math.sqrt(covered));
  return both > 0 ? both - (2 * covered) / both : 0;
}

/** Unevenness within the cells of a grid, from prefix sums of their values and of the region's cells. */
export class GridUnevenness {
  constructor({ within, growth, scales }, nx, ny, valueSums, cellSums) {
    Object.assign(this, { within, growth, nx });
    const [squares, firsts] = expectedCells(scales, nx, ny, valueSums, cellSums);
    this.squares = prefixSums(squares, nx, ny);
    this.firsts = prefixSums(firsts, nx, ny);
  }

  /** Variance that uneven spread adds to a box's answer, given how it covers columns, rows and cut border cells. */
  variance(x, y, cuts) {
    const [x1, x2, y1, y2] = [knotWeights(x, 1), knotWeights(x, 2), knotWeights(y, 1), knotWeights(y, 2)];
    const less = (one, other) => one.map((weight, i) => weight - other[i]);
    const sum = (sums, columns, rows) => knotSum(sums, this.nx, x.knots, columns, y.knots, rows);
    const acrossX = Math.max(sum(this.squares, less(x1, x2), y1), 0);
    const acrossY = Math.max(sum(this.squares, x2, less(y1, y2)), 0);
    const plainFew = sum(this.firsts, x1, less(y1, y2)) + sum(this.firsts, less(x1, x2), y2);
    const few = Math.max(plainFew + this.uncovered(this.firsts, cuts), 0);
    const [width, height] = [x.stop - x.start, y.stop - y.start];
    const plainEdges = grown(this.growth[0], height) * acrossX + grown(this.growth[1], width) * acrossY;
    const more = this.uncovered(this.squares, cuts);
    const edges = more ? plainEdges * Math.max(1 + more / (acrossX + acrossY), 0) : plainEdges;
    const small = smallBox(width * height);
    return this.within * edges * (1 + this.within * small) + few * (1 + small);
  }

  /** By how much cut border cells change the sum of share x (1 - share) x value. */
  uncovered(sums, cuts) {
    const value = ({ place }) => {
      const [column, row] = [place % this.nx, Math.floor(place / this.nx)];
      return blockSum(sums, blockCorners(column, row, 1, this.nx, Infinity));
    };
    return changed(cuts, 1, value) - changed(cuts, 2, value);
  }
}

/**
 * Expected squares and cautious expected counts of all cells, from a pyramid of blocks that halve their sides. Each
 * level has the side of its blocks, their heterogeneity within the blocks above, and the noise's variance per cell.
 */
function expectedCells(scales, nx, ny, valueSums, cellSums) {
  let above = null;
  for (const { side, uneven, variance } of scales) {
    const [columns, rows] = [Math.ceil(nx / side), Math.ceil(ny / side)];
    const size = columns * rows;
    const here = { columns, mean: new Float64Array(size), spread: new Float64Array(size), cells: new Float64Array(size) };
    for (let row = 0, place = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, place++) {
        const corners = blockCorners(column, row, side, nx, ny);
        const [count, cells] = [blockSum(valueSums, corners), blockSum(cellSums, corners)];
        here.cells[place] = cells;
        if (!above) {
          [here.mean[place], here.spread[place]] = [count, variance * cells];
          continue;
        }
        const parent = (row >> 1) * above.columns + (column >> 1);
        const share = cells > 0 ? cells / above.cells[parent] : 0;
        const [mean, spread] = [above.mean[parent], above.spread[parent]];
        [here.mean[place], here.spread[place]] = posterior(mean, spread, share, uneven, count, variance * cells);
      }
    }
    above = here;
  }
  const squares = new Float64Array(nx * ny);
  const firsts = new Float64Array(nx * ny);
  for (let cell = 0; cell < nx * ny; cell++) {
    if (above.cells[cell] > 0) [squares[cell], firsts[cell]] = expectedSquares(above.mean[cell], above.spread[cell]);
  }
  return [squares, firsts];
}

/** Places of a block's four corners in prefix sums: south-west, south-east, north-west, north-east. */
function blockCorners(column, row, side, nx, ny) {
  const [west, east] = [column * side, Math.min((column + 1) * side, nx)];
  const [south, north] = [row * side * (nx + 1), Math.min((row + 1) * side, ny) * (nx + 1)];
  return [south + west, south + east, north + west, north + east];
}

function blockSum(sums, [southWest, southEast, northWest, northEast]) {
  return sums[northEast] - sums[northWest] - sums[southEast] + sums[southWest];
}

/** Unevenness within the leaves of a tree of unequal leaves. */
export class TreeUnevenness {
  constructor(tables, tree) {
    const { half, within, growth, lines } = tables;
    Object.assign(this, { half, within, growth, tree, lineTables: lines });
    this.unequal = Object.keys(lines).length === 0;
    this.values = tables.values ?? tree.values; // estimates, made consistent
    this.placeNodes(tables.families, tables.variances);
  }

  /** From the root down: areas as shares of the root's, noise of families, expected squares. */
  placeNodes(families, variances) {
    const { tree, values } = this;
    const n = tree.count;
    const [mean, spread] = [new Float64Array(n), new Float64Array(n)];
    this.deviation = new Float64Array(n);
    this.squares = new Float64Array(n);
    this.firsts = new Float64Array(n);
    this.areas = new Float64Array(n).fill(1);
    for (let node = 0; node < n; node++) {
      const variance = variances[node];
      if (node === 0) {
        [mean[0], spread[0]] = [values[0], variance];
      } else {
        const parent = tree.parent[node];
        const share = tree.share(parent, tree.boxOf(node));
        this.areas[node] = this.areas[parent] * share;
        const above = variances[parent];
        const family = variance + share ** 2 * above - (2 * share * above) / tree.children[parent];
        this.deviation[node] = Math.max(0, family);
        const known = [mean[parent], spread[parent], share, families[tree.depth[parent]]];
        [mean[node], spread[node]] = posterior(...known, values[node], variance);
      }
      [this.squares[node], this.firsts[node]] = expectedSquares(mean[node], spread[node]);
    }
  }

  /** Variance that uneven spread adds to the answer of a box, and what the answer is to be changed by. */
  allowance(box) {
    const levels = this.tree.walk(box);
    const sums = { cuts: 0, missed: 0, leaves: 0, lines: 0, small: 0, points: 0, difference: 0, noise: 0, above: 0 };
    Object.assign(sums, { sizes: new Map(), whole: { expected: 0, area: 0 }, cutLeaves: [] });
    levels.forEach((level, depth) => this.addLeaves(sums, level, depth, levels[depth - 1]));
    return sums.cuts ? this.combined(sums) : { variance: 0, shift: 0 };
  }

  /** Add the nodes of one depth at which the walk ends, and the families above that have a cut leaf. */
  addLeaves(sums, level, depth, upper) {
    const within = this.within[depth];
    const chosen = new Set();
    level.nodes.forEach((node, i) => {
      const share = level.shares[i];
      if (level.divided[i] || share === 0) return;
      sums.leaves += share * this.tree.leavesBelow[node];
      if (share === 1) {
        sums.whole.expected += this.firsts[node];
        sums.whole.area += this.areas[node];
        return;
      }
      sums.cutLeaves.push({ node, share });
      const uncovered = share * (1 - share);
      const lines = within * this.squares[node] * uncovered;
      sums.cuts += 1;
      sums.missed += 1 - share;
      this.addSize(sums.sizes, node, uncovered * this.squares[node]);
      sums.lines += lines;
      sums.small += within * lines;
      sums.points += this.firsts[node] * uncovered;
      if (upper) chosen.add(level.parents[i]);
    });
    if (chosen.size) this.addFamilies(sums, level, depth - 1, upper, chosen);
  }

  /** Add a cut leaf to those of its size, if lines along the axes have a table for it. */
  addSize(sizes, node, squares) {
    const [xlo, ylo, xhi, yhi] = this.tree.boxOf(node);
    const key = [xhi - xlo, yhi - ylo].map((side) => Math.round(Math.log2(LATTICE / side))).join(",");
    const size = sizes.get(key) ?? { cuts: 0, squares: 0 };
    sizes.set(key, { cuts: size.cuts + 1, squares: size.squares + squares });
  }

  /** Variance that lines along the axes add, for edges of a length that have leaves of each size by their number. */
  alongLines({ sizes, cuts, missed, leaves }) {
    const length = edgeLength(missed, leaves);
    let variance = 0;
    for (const [key, size] of sizes) {
      const table = this.lineTables[key];
      if (table) variance += grown(table, (length * size.cuts) / cuts) * size.squares;
    }
    return variance;
  }

  /** What the parents of cut leaves would have answered, minus what their children answer. */
  addFamilies(sums, lower, depth, upper, chosen) {
    for (const place of chosen) {
      const [node, share] = [upper.nodes[place], upper.shares[place]];
      sums.difference += share * this.values[node];
      sums.above += this.half[depth] * share * (1 - share) * this.squares[node];
    }
    lower.nodes.forEach((child, i) => {
      if (!chosen.has(lower.parents[i])) return;
      const share = lower.shares[i];
      sums.difference -= share * this.values[child];
      sums.noise += (upper.shares[lower.parents[i]] - share) ** 2 * this.deviation[child];
    });
  }

  /** Mean squared error, if any truth is as likely that makes cut leaves at most as dense as what is covered whole. */
  contrastVariance({ whole, cutLeaves }, shift) {
    if (!(whole.area > 0)) return 0;
    const density = whole.expected / whole.area;
    const more = ({ node, share }) =>
      Math.min(this.firsts[node], share * this.areas[node] * density) - share * this.firsts[node];
    return Math.max(cutLeaves.reduce((sum, leaf) => sum + more(leaf), 0) - shift, 0) ** 2 / 3;
  }

  combined(sums) {
    const { cuts, leaves, lines, small, points, difference, noise, above } = sums;
    const extra = smallBox(leaves);
    const square = difference ** 2;
    const ratio = above > 0 ? lines / above : 0;
    const certain = square > 0 ? Math.max(square - 2 * noise, 0) / square : 0;
    const taken = 0.5 * certain * Math.min(1, 4 * ratio);
    const local = Math.max(square - noise, 0) * Math.min(ratio, 1);
    const spread = grown(this.growth, cuts / 4) * (lines + extra * small) + this.alongLines(sums);
    const shift = -taken * difference;
    const variance = spread + local + points * (1 + extra) + taken ** 2 * noise;
    const contrast = this.unequal ? this.contrastVariance(sums, shift) : 0;
    return { variance: Math.max(variance, contrast), shift };
  }
}
