// What does a grid answer for a box, with how much noise, and which cells does the map show? As estimates/histogram.py.

import { RegionArea, borderCuts, changed } from "./borders.mjs";
import { LATTICE, cellOf, coverage, edgeLine, isWhole, prefixSums, weightedSum } from "./lattice.mjs";
import { noiseModel } from "./noise.mjs";
import { GridUnevenness } from "./uneven.mjs";

/** Cells narrower than this many pixels are drawn in blocks. */
const NARROWEST = 2.5;

export class GridEstimate {
  constructor({ nx, ny, values, mask, region, noise, step, wholeSteps, uneven, noiseOfTotal }) {
    Object.assign(this, { nx, ny, values, step, wholeSteps, tables: uneven, noiseOfTotal });
    const inside = mask ?? new Uint8Array(nx * ny).fill(1);
    this.inside = inside;
    this.area = region && new RegionArea(region);
    this.partial = mask !== null && mask.some((here) => here) && !mask.every((here) => here);
    this.valueSums = prefixSums(values, nx, ny);
    this.cellSums = prefixSums(inside, nx, ny);
    this.around = this.partial ? linesAround(mask, nx, ny) : null;
    this.cumulants = noise && noiseModel(noise, this, this.cellSums);
  }

  /** Estimated count of a lattice box, as if records were spread evenly within each cell's part of the region. */
  answer(box) {
    const { x, y, cuts, cells } = this.covered(box);
    if (this.partial && !(cells > 1e-9)) return 0;
    return weightedSum(this.valueSums, this.nx, x, y, 1) + changed(cuts, 1, ({ place }) => this.values[place]);
  }

  /** Variance and excess kurtosis of the noise in a box's answer. */
  moments(box) {
    const { x, y, cuts, cells } = this.covered(box);
    const [second, fourth] = this.partial && !(cells > 1e-9) ? [0, 0] : this.cumulants(x, y, cuts);
    return [second, second > 0 ? fourth / second ** 2 : 0];
  }

  /** Whether the noise in a box's answer is a whole multiple of the step. */
  inSteps(box) {
    const { x, y } = this.covered(box);
    return this.wholeSteps && isWhole(x) && isWhole(y);
  }

  /** What uneven spread within cut cells adds to the error of a box's answer. */
  allowance(box) {
    const { x, y, cuts, cells } = this.covered(box);
    if (this.noiseOfTotal !== null) return this.anywhere(cells);
    if ((isWhole(x) && isWhole(y)) || (this.partial && !(cells > 1e-9))) return { variance: 0, shift: 0 };
    this.unevenness ??= new GridUnevenness(this.tables, this.nx, this.ny, this.valueSums, this.cellSums);
    return { variance: this.unevenness.variance(x, y, cuts), shift: 0 };
  }

  /** The allowance of a box of some cells where only the total was measured: records may lie anywhere in the region. */
  anywhere(cells) {
    const last = this.cellSums.length - 1;
    const share = Math.min(Math.max(cells / this.cellSums[last], 0), 1);
    const square = Math.max(this.valueSums[last], 0) ** 2 + this.noiseOfTotal;
    return { variance: square * share * (1 - share), shift: 0 };
  }

  /**
   * How much of each column and row a box covers, which cells on the region's border it cuts, and how many of the
   * region's cells it covers. Everything outside the region is known to be empty. A box that contains all of the region
   * is answered as the whole grid: transforms measure that total with the least noise.
   */
  covered(box) {
    const cut = this.around ? this.within(box) : box;
    const asked = this.coveredWithin(cut);
    const all = this.cellSums[this.cellSums.length - 1];
    return this.area && asked.cells > all - 1e-6 ? this.coveredWithin([0, 0, LATTICE, LATTICE]) : asked;
  }

  coveredWithin(box) {
    const { nx, ny } = this;
    const [x, y] = [coverage(box[0], box[2], nx), coverage(box[1], box[3], ny)];
    const cuts = borderCuts(this.area, this.inside, nx, ny, box, x, y);
    return { x, y, cuts, cells: weightedSum(this.cellSums, nx, x, y, 1) + changed(cuts, 1) };
  }

  /** Cut a box to the rectangle around the region's cells; a box that contains this rectangle is the whole domain. */
  within(box) {
    const cut = box.map((line, side) => Math.min(Math.max(line, this.around[side % 2]), this.around[2 + (side % 2)]));
    return cut.every((line, side) => line === this.around[side]) ? [0, 0, LATTICE, LATTICE] : cut;
  }

  /** Call `show` for each cell, or block of narrow cells, in view; scales are pixels per lattice line. */
  visit([west, south, east, north], [scaleX, scaleY], show) {
    const across = blockSide(scaleX, this.nx);
    const high = blockSide(scaleY, this.ny);
    const firstColumn = Math.floor(cellOf(Math.max(west, 0), this.nx) / across) * across;
    const firstRow = Math.floor(cellOf(Math.max(south, 0), this.ny) / high) * high;
    for (let row = firstRow; row < this.ny && edgeLine(row, this.ny) <= north; row += high) {
      for (let column = firstColumn; column < this.nx && edgeLine(column, this.nx) <= east; column += across) {
        this.showBlock(column, row, across, high, show);
      }
    }
  }

  showBlock(column, row, across, high, show) {
    const right = Math.min(column + across, this.nx);
    const top = Math.min(row + high, this.ny);
    const width = this.nx + 1;
    const at = (sums) =>
      sums[top * width + right] - sums[top * width + column] - sums[row * width + right] + sums[row * width + column];
    const cells = at(this.cellSums);
    if (cells < 0.5) return;
    const box = [edgeLine(column, this.nx), edgeLine(row, this.ny), edgeLine(right, this.nx), edgeLine(top, this.ny)];
    const estimate = this.partial ? this.answer(box) : at(this.valueSums);
    const name = across * high === 1 ? `Cell ${column}, ${row}` : `Block of ${Math.round(cells)} cells`;
    show({ box, estimate, cells, name });
  }
}

function blockSide(scale, count) {
  const pixels = (scale * edgeLine(count, count)) / count;
  return pixels >= NARROWEST ? 1 : 2 ** Math.ceil(Math.log2(NARROWEST / pixels));
}

/** Lattice lines around the region's cells: west, south, east, north. */
function linesAround(mask, nx, ny) {
  let [west, south, east, north] = [nx, ny, 0, 0];
  mask.forEach((here, place) => {
    if (!here) return;
    const [column, row] = [place % nx, Math.floor(place / nx)];
    west = Math.min(west, column);
    east = Math.max(east, column + 1);
    south = Math.min(south, row);
    north = Math.max(north, row + 1);
  });
  return [edgeLine(west, nx), edgeLine(south, ny), edgeLine(east, nx), edgeLine(north, ny)];
}
