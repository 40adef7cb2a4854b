// Where does a box lie on the lattice, and how much of each cell does it cover? By the rules of space/lattice.py and
// space/coverage.py: the same snapping, half-open boxes and covered shares.

export const LATTICE = 2 ** 30;

/** Lattice line of a coordinate, clipped to the axis. */
export function lineOf(value, low, high) {
  const inside = Math.min(Math.max(value, low), high);
  return Math.floor((inside - low) / ((high - low) / LATTICE));
}

/** Coordinate of a lattice line. */
export function coordinateOf(line, low, high) {
  const share = line / LATTICE;
  return low * (1 - share) + high * share;
}

/** Lattice box of a box in coordinates. */
export function snapBox([xmin, ymin, xmax, ymax], [left, bottom, right, top]) {
  return [
    lineOf(xmin, left, right),
    lineOf(ymin, bottom, top),
    lineOf(xmax, left, right),
    lineOf(ymax, bottom, top),
  ];
}

/** Whether a box shares no area with the bounds; one without any area is outside if it does not touch them. */
export function isOutside(box, bounds) {
  const empty = box[0] === box[2] || box[1] === box[3];
  return [0, 1].some((axis) => {
    const [low, high] = [box[axis], box[axis + 2]];
    if (empty) return high < bounds[axis] || low > bounds[axis + 2];
    return high <= bounds[axis] || low >= bounds[axis + 2];
  });
}

/** Lattice line at which a cell begins; products stay below 2^53, so this is exact. */
export function edgeLine(cell, count) {
  return Math.floor((cell * LATTICE) / count);
}

/** Cell that a lattice column lies in. */
export function cellOf(line, count) {
  return Math.floor((Math.min(line, LATTICE - 1) * count + (count - 1)) / LATTICE);
}

/**
 * How much of each of `count` cells the lattice interval [low, high) covers: the share is constant on three stretches
 * (first cell, cells between, last cell), which four knots divide.
 */
export function coverage(low, high, count) {
  const [first, from] = cellAndFraction(low, count);
  const [last, to] = cellAndFraction(high, count);
  const same = first === last;
  return {
    knots: [first, first + 1, Math.max(last, first + 1), last + 1],
    parts: [(same ? to : 1) - from, last > first + 1 ? 1 : 0, same ? 0 : to],
    start: first + from,
    stop: last + to,
  };
}

function cellAndFraction(line, count) {
  const cell = cellOf(line, count);
  const start = edgeLine(cell, count);
  return [cell, (line - start) / (edgeLine(cell + 1, count) - start)];
}

/** Weights of prefix sums at the knots that add up to Σ value × coverage^power. */
export function knotWeights(covered, power) {
  const [first, middle, last] = covered.parts.map((part) => part ** power);
  return [-first, first - middle, middle - last, last];
}

/** Sum of all cells south-west of each corner, row by row, (ny + 1) × (nx + 1). */
export function prefixSums(values, nx, ny) {
  const sums = new Float64Array((nx + 1) * (ny + 1));
  for (let row = 1; row <= ny; row++) {
    let along = 0;
    for (let column = 1; column <= nx; column++) {
      along += values[(row - 1) * nx + column - 1];
      sums[row * (nx + 1) + column] = sums[(row - 1) * (nx + 1) + column] + along;
    }
  }
  return sums;
}

/** Sum over cells of value × coverage along x × coverage along y, each to a power. */
export function weightedSum(sums, nx, x, y, power) {
  return knotSum(sums, nx, x.knots, knotWeights(x, power), y.knots, knotWeights(y, power));
}

/** Sum of prefix sums at 4 × 4 knots, times weights along x and along y. */
export function knotSum(sums, nx, columns, columnWeights, rows, rowWeights) {
  let total = 0;
  for (let j = 0; j < 4; j++) {
    let along = 0;
    for (let i = 0; i < 4; i++) along += columnWeights[i] * sums[rows[j] * (nx + 1) + columns[i]];
    total += rowWeights[j] * along;
  }
  return total;
}

/** Whether a coverage covers no cell in part. */
export function isWhole({ parts }) {
  return parts.every((part) => part === 0 || part === 1);
}

/** Σ share^power over the unit intervals [0, 1), [1, 2), …, where share is how much of each [start, stop) covers. */
export function blockPowers(start, stop, power) {
  const first = Math.floor(start);
  const last = Math.floor(stop);
  if (first === last) return (stop - start) ** power;
  return (first + 1 - start) ** power + (last - first - 1) + (stop - last) ** power;
}
