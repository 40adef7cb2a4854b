// Which zone is at a place, and what was estimated for it? Zones are public polygons; the page draws them simplified.

import { LATTICE } from "./lattice.mjs";
import { linesOf } from "./lines.mjs";

/** Estimates of zones on several levels; the map shows the zones of one `level`, and those above it without parts. */
export class ZoneEstimate {
  constructor({ levels, offsets, parents, codes, values, variances, kurtosis, step, sizes, owners, rings, borders }) {
    Object.assign(this, { levels, offsets, parents, codes, values, variances, kurtosis, step, sizes });
    /** Half-widths of the intervals of all zones; null for biased releases, which have none. */
    this.halves = null;
    /** The drawn areas: the node that each one is, and its rings as arrays of places on the lattice. */
    const lines = linesOf(rings);
    this.areas = Array.from(owners.nodes, (node) => ({ node, rings: [], box: [Infinity, Infinity, -Infinity, -Infinity] }));
    lines.forEach((ring, number) => addRing(this.areas[owners.areas[number]], ring));
    this.borders = borders.map(linesOf);
    this.level = levels.length - 1;
    this.numbers = new Map(codes.map((code, node) => [`${this.depthOf(node)} ${code}`, node]));
  }

  /** Compute the half-widths of all zones. */
  measure(halfWidthOf) {
    if (!this.variances) return;
    this.halves = Float64Array.from(this.variances, (variance, node) => halfWidthOf(variance, this.kurtosis[node], this.step));
  }

  /** Depth of a node: the number of its level. */
  depthOf(node) {
    return this.offsets.findIndex((end, depth) => depth > 0 && node < end) - 1;
  }

  /** The zone that the map shows where it shows this node's area: its ancestor at the chosen level, or the node. */
  shownAs(node) {
    let shown = node;
    while (shown >= this.offsets[this.level + 1]) shown = this.parents[shown];
    return shown;
  }

  /** A node as the map and the readout need it. */
  zone(node) {
    const half = this.halves ? this.halves[node] : null;
    return { node, name: this.nameOf(node), estimate: this.values[node], half, size: this.sizes[node] };
  }

  nameOf(node) {
    const level = this.levels[this.depthOf(node)];
    return level === this.codes[node] ? level : `${level} ${this.codes[node]}`; // a root that was added has one name
  }

  /** The zones above a node, nearest first, without the one that stands for all of them. */
  above(node) {
    const zones = [];
    for (let each = node; each > 0; ) {
      each = this.parents[each];
      if (each > 0 || this.offsets[1] > 1) zones.push(this.nameOf(each));
    }
    return zones;
  }

  /** The areas of some node, as drawn. */
  areasOf(node) {
    const depth = this.depthOf(node);
    return this.areas.filter((area) => {
      let each = area.node;
      while (each >= this.offsets[depth + 1]) each = this.parents[each];
      return each === node;
    });
  }

  /** The outline of a zone as pieces of lines: edges between two of its own areas are left out. */
  outlineOf(node) {
    if (this.outlined?.node === node) return this.outlined.pieces;
    const edges = new Map();
    for (const { rings } of this.areasOf(node)) {
      for (const ring of rings) ring.slice(1).forEach((to, i) => addEdge(edges, ring[i], to));
    }
    this.outlined = { node, pieces: [...edges.values()] };
    return this.outlined.pieces;
  }

  /** The zone at a place on the lattice, on the chosen level; undefined where there is none. */
  at([x, y]) {
    const area = this.areas.find(({ box, rings }) => {
      const near = x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3];
      return near && rings.reduce((inside, ring) => inside !== crosses(ring, x, y), false);
    });
    return area && this.zone(this.shownAs(area.node));
  }

  /** The node with a code: on the chosen level, else on the lowest level that has it; undefined if none has. */
  find(code) {
    const depths = [this.level, ...this.levels.map((_, depth) => this.levels.length - 1 - depth)];
    return depths.map((depth) => this.numbers.get(`${depth} ${code}`)).find((node) => node !== undefined);
  }
}

/** Add an edge, or take it out if it is there already: then an area lies on either side. */
function addEdge(edges, from, to) {
  const ends = [from, to].map((end) => end.join());
  const key = ends.sort().join(" ");
  if (!edges.delete(key)) edges.set(key, [from, to]);
}

function addRing(area, ring) {
  area.rings.push(ring);
  for (const [x, y] of ring) {
    area.box = [Math.min(area.box[0], x), Math.min(area.box[1], y), Math.max(area.box[2], x), Math.max(area.box[3], y)];
  }
}

/** Whether a line from a place to the west crosses a ring an odd number of times. */
function crosses(ring, x, y) {
  let odd = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
    const [[x0, y0], [x1, y1]] = [ring[i], ring[j]];
    if (y0 > y !== y1 > y && x < x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)) odd = !odd;
  }
  return odd;
}

/** The lattice box around some areas. */
export function boxAround(areas) {
  const around = areas.reduce(
    ([a, b, c, d], { box }) => [Math.min(a, box[0]), Math.min(b, box[1]), Math.max(c, box[2]), Math.max(d, box[3])],
    [LATTICE, LATTICE, 0, 0],
  );
  return around;
}
