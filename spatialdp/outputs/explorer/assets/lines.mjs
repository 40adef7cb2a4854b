// Where do the outline of the region and the boundaries run? They travel as whole steps, packed by explorer/lines.py.

import { LATTICE } from "./lattice.mjs";

/** Steps along each side of the domain; `STEPS` in explorer/lines.py. */
const LINE_STEPS = 2 ** 20;

/** Lines as arrays of places (x, y) on the lattice, from their numbers of vertices and the steps between vertices. */
export function linesOf({ counts, steps }) {
  const total = steps.length / 2;
  const lines = [];
  let [x, y, vertex] = [0, 0, 0];
  for (const count of counts) {
    const line = [];
    for (const end = vertex + count; vertex < end; vertex++) {
      x += steps[vertex];
      y += steps[total + vertex];
      line.push([(x / LINE_STEPS) * LATTICE, (y / LINE_STEPS) * LATTICE]);
    }
    lines.push(line);
  }
  return lines;
}
