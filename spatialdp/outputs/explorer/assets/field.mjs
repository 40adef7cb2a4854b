// What does a field answer for a box? The sum of its cells; intervals come from the unbiased tree. As
// estimates/fields/field.py.

import { GridEstimate } from "./grid.mjs";
import { TreeEstimate } from "./tree.mjs";

export class FieldEstimate {
  constructor({ cells, tree }) {
    this.cells = new GridEstimate(cells);
    this.unbiased = new TreeEstimate(tree);
  }

  /** Estimated count of a lattice box, as if records were spread evenly within each cell. */
  answer(box) {
    return this.cells.answer(box);
  }

  /** Call `show` for each cell, or block of narrow cells, in view. */
  visit(view, scales, show) {
    this.cells.visit(view, scales, show);
  }
}
