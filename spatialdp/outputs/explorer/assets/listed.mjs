// What does a list of cells answer for a box? The sum of its listed cells, as estimates/sparse/listed.py.

/** Cells narrower than this many pixels are drawn as squares of this size around their centre. */
const DOT = 5;

export class ListedEstimate {
  constructor({ boxes, places, values, variance, kurtosis, step }) {
    Object.assign(this, { places, values, variance, kurtosis, step });
    const count = values.length;
    this.sides = [0, 1, 2, 3].map((side) => boxes.subarray(side * count, (side + 1) * count));
  }

  /** The half-width of the interval of every whole cell is one number; biased releases have none. */
  measure(halfWidth) {
    const { variance, kurtosis, step } = this;
    this.half = variance === null ? null : Math.floor(halfWidth(variance, kurtosis, step) / step + 1e-9) * step;
  }

  /** Call `add` for each listed cell that a lattice box touches, with the cell's number and covered share. */
  covered([west, south, east, north], add) {
    const [left, bottom, right, top] = this.sides;
    for (let cell = 0; cell < this.values.length; cell++) {
      const across = Math.min(east, right[cell]) - Math.max(west, left[cell]);
      const up = Math.min(north, top[cell]) - Math.max(south, bottom[cell]);
      if (!(across > 0 && up > 0)) continue;
      add(cell, (across / (right[cell] - left[cell])) * (up / (top[cell] - bottom[cell])));
    }
  }

  /** Sum over the listed cells of a box of a function of each cell's number and covered share. */
  summed(box, count) {
    let sum = 0;
    this.covered(box, (cell, share) => (sum += count(cell, share)));
    return sum;
  }

  /** Estimated count of the listed cells of a lattice box, as if records were spread evenly within a cell. */
  answer(box) {
    return this.summed(box, (cell, share) => share * this.values[cell]);
  }

  /** Variance and excess kurtosis of the noise in a box's answer. */
  moments(box) {
    const second = this.variance * this.summed(box, (_, share) => share ** 2);
    const fourth = this.variance ** 2 * this.kurtosis * this.summed(box, (_, share) => share ** 4);
    return [second, second > 0 ? fourth / second ** 2 : 0];
  }

  /** Whether the noise in a box's answer is a whole multiple of the step: no listed cell is cut. */
  inSteps(box) {
    return this.summed(box, (_, share) => (share < 1 ? 1 : 0)) === 0;
  }

  /** What uneven spread within cut cells adds to the error: the records of a cell may all lie in one place. */
  allowance(box) {
    const square = (cell) => Math.max(this.values[cell], 0) ** 2 + this.variance;
    return { variance: this.summed(box, (cell, share) => square(cell) * share * (1 - share)), shift: 0 };
  }

  /** Call `show` for each listed cell in view; a cell too small to be seen gets a square around its centre. */
  visit([west, south, east, north], [scaleX, scaleY], show) {
    const [left, bottom, right, top] = this.sides;
    const widen = (low, high, scale) => Math.max(0, (DOT / scale - (high - low)) / 2);
    for (let cell = 0; cell < this.values.length; cell++) {
      const own = [left[cell], bottom[cell], right[cell], top[cell]];
      const [x, y] = [widen(own[0], own[2], scaleX), widen(own[1], own[3], scaleY)];
      const box = [own[0] - x, own[1] - y, own[2] + x, own[3] + y];
      if (box[0] > east || box[2] < west || box[1] > north || box[3] < south) continue;
      const name = `Cell ${this.places[0][cell]}, ${this.places[1][cell]}`;
      show({ box, own, estimate: this.values[cell], half: this.half, cells: 1, name });
    }
  }
}
