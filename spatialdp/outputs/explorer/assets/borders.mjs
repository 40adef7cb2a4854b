// Which share of a cell's count does a box get on the border of the region? That of the cell's area in the region. As
// space/regions/borders.py.

import { coverage, edgeLine, isWhole, prefixSums, weightedSum } from "./lattice.mjs";

/** Cells along each side of the raster on which the region is drawn. */
const SIDE = 1024;

/** Areas below this share of a raster cell's are rounding errors of sums. */
const SPECK = 1e-8;

const LINES = edgeLine(1, SIDE);

/** The area of the region in any box, from the raster of 0 and 1. */
export class RegionArea {
  constructor(raster) {
    this.sums = prefixSums(raster, SIDE, SIDE);
  }

  /** Area of the region in a lattice box, in cells of the raster. */
  of(box) {
    const covered = [coverage(box[0], box[2], SIDE), coverage(box[1], box[3], SIDE)];
    return Math.max(weightedSum(this.sums, SIDE, ...covered, 1), 0);
  }

  /** Share of the region's part of a cell (a lattice box) that lies in a box. */
  share(box, cell) {
    const inside = common(box, cell);
    const [whole, full] = [this.of(cell), plainArea(cell)];
    if (!inPart(whole, full)) return plainArea(inside) / full;
    const part = this.of(inside);
    return part < SPECK ? 0 : part > whole - SPECK ? 1 : part / whole;
  }

  /** Whether a cell lies in the region in part. */
  borders(cell) {
    return inPart(this.of(cell), plainArea(cell));
  }
}

/**
 * The cells on the region's border that a box cuts, each with its number, its lattice box, and the shares of the cell
 * (plain) and of the region's part of the cell (covered). `inside` tells which cells belong to the region.
 */
export function borderCuts(area, inside, nx, ny, box, x, y) {
  if (!area || Math.min(nx, ny) >= SIDE || (isWhole(x) && isWhole(y))) return [];
  const [left, right, bottom, top] = [x.start, x.stop, y.start, y.stop].map((place, i) =>
    i % 2 ? Math.ceil(place) : Math.floor(place),
  );
  const cutBy = ({ parts, knots }) => new Set([0, 2].filter((i) => parts[i] > 0 && parts[i] < 1).map((i) => knots[i]));
  const [columns, rows] = [cutBy(x), cutBy(y)];
  const cuts = [];
  const look = (column, row) => {
    if (!inside[row * nx + column]) return;
    const cell = [edgeLine(column, nx), edgeLine(row, ny), edgeLine(column + 1, nx), edgeLine(row + 1, ny)];
    if (!area.borders(cell)) return;
    const plain = plainArea(common(box, cell)) / plainArea(cell);
    cuts.push({ place: row * nx + column, cell, plain, covered: area.share(box, cell) });
  };
  for (let row = bottom; row < top; row++) {
    if (rows.has(row)) for (let column = left; column < right; column++) look(column, row);
    else for (const column of columns) look(column, row);
  }
  return cuts;
}

/** Sum over cut cells of the change of the share, to a power, times a weight. */
export function changed(cuts, power, weight = () => 1) {
  return cuts.reduce((sum, cut) => sum + (cut.covered ** power - cut.plain ** power) * weight(cut), 0);
}

function common(box, cell) {
  const [west, south] = [Math.max(box[0], cell[0]), Math.max(box[1], cell[1])];
  return [west, south, Math.max(Math.min(box[2], cell[2]), west), Math.max(Math.min(box[3], cell[3]), south)];
}

function plainArea(box) {
  return ((box[2] - box[0]) / LINES) * ((box[3] - box[1]) / LINES);
}

function inPart(area, full) {
  return area > SPECK && area < full - SPECK;
}
