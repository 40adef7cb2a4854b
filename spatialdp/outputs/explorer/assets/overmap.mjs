// What does a list of cells over a map of blocks answer for a box? As estimates/sparse/over_map.py.

import { isWhole } from "./lattice.mjs";
import { ListedEstimate } from "./listed.mjs";
import { TreeEstimate } from "./tree.mjs";

export class ListOverMapEstimate {
  constructor({ map, list, blocks }) {
    this.map = new TreeEstimate(map);
    this.listed = new ListedEstimate(list);
    this.step = Math.max(this.map.step, this.listed.step);
    const count = this.listed.values.length;
    this.blocks = [0, 1, 2, 3].map((side) => blocks.subarray(side * count, (side + 1) * count));
  }

  measure(halfWidth) {
    this.listed.measure(halfWidth);
  }

  /** Sum over the listed cells of a function of the cell's number and its covered share without that of its block. */
  moved(box, count) {
    if (this.map.covered(box)?.every(isWhole)) return 0; // blocks are covered with all of their cells, or not at all
    let sum = 0;
    for (let cell = 0; cell < this.listed.values.length; cell++) {
      const block = this.blocks.map((side) => side[cell]);
      const [ofBlock, ofCell] = [this.ofBlock(box, block), shareOf(box, this.listed.sides.map((side) => side[cell]))];
      if (ofCell !== ofBlock) sum += count(cell, ofCell - ofBlock);
    }
    return sum;
  }

  /** Covered share of a block, or of its part of the region. */
  ofBlock(box, block) {
    const share = shareOf(box, block);
    return this.map.area && share > 0 && share < 1 ? this.map.area.share(box, block) : share;
  }

  /** Estimated count of a lattice box: what is not listed of a block is spread evenly within it. */
  answer(box) {
    return this.map.answer(box) + this.moved(box, (cell, share) => share * this.listed.values[cell]);
  }

  /** Variance and excess kurtosis of the noise in a box's answer. */
  moments(box) {
    const [ofMap, kurtosis] = this.map.moments(box);
    const own = this.listed.variance;
    const second = ofMap + own * this.moved(box, (_, share) => share ** 2);
    const fourth = kurtosis * ofMap ** 2 + own ** 2 * this.listed.kurtosis * this.moved(box, (_, share) => share ** 4);
    return [second, second > 0 ? fourth / second ** 2 : 0];
  }

  /** Whether the noise in a box's answer is a whole multiple of the step; it is not taken to be. */
  inSteps() {
    return false;
  }

  /** What uneven spread within cut blocks and within cut listed cells adds to the error of a box's answer. */
  allowance(box) {
    return { variance: this.map.allowance(box).variance + this.listed.allowance(box).variance, shift: 0 };
  }

  /** Call `show` for the blocks in view, and then for the listed cells, which lie over them. */
  visit(view, scales, show) {
    this.map.visit(view, scales, show);
    this.listed.visit(view, scales, show);
  }
}

/** Share of a lattice area that a box covers. */
function shareOf(box, [west, south, east, north]) {
  const across = Math.min(box[2], east) - Math.max(box[0], west);
  const up = Math.min(box[3], north) - Math.max(box[1], south);
  return across > 0 && up > 0 ? (across / (east - west)) * (up / (north - south)) : 0;
}
