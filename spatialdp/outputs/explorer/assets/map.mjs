// How do released cells become a map? As tiles that are painted here; Leaflet pans and zooms them.

import { classOf, estimateColour, hatching } from "./colours.mjs";
import { LATTICE } from "./lattice.mjs";
import { linesOf } from "./lines.mjs";

/** Cells at least this many pixels wide and high get an outline. */
const OUTLINED = 14;

/** Converts between lattice and Leaflet's coordinates: the domain fits the container at zoom 0, with y pointing up. */
export class Frame {
  constructor(container, ratio) {
    const margin = 24;
    this.width = Math.max(Math.min(container.clientWidth - margin, (container.clientHeight - margin) / ratio), 50);
    this.height = this.width * ratio;
  }

  /** Latitude and longitude, as Leaflet calls them, of a place on the lattice. */
  place(x, y) {
    return [(y / LATTICE) * this.height, (x / LATTICE) * this.width];
  }

  box([xmin, ymin, xmax, ymax]) {
    return [this.place(xmin, ymin), this.place(xmax, ymax)];
  }

  /** Place on the lattice, not rounded, of Leaflet's latitude and longitude. */
  lattice({ lat, lng }) {
    return [(lng / this.width) * LATTICE, (lat / this.height) * LATTICE];
  }

  /** Pixels per lattice line along x and y. */
  scales(zoom) {
    return [(this.width * 2 ** zoom) / LATTICE, (this.height * 2 ** zoom) / LATTICE];
  }
}

/** Layer of tiles that shows the cells; its `view` is "estimate" or "uncertainty". */
export const CellLayer = L.GridLayer.extend({
  initialize(release, frame, look) {
    L.GridLayer.prototype.initialize.call(this, {
      bounds: frame.box([0, 0, LATTICE, LATTICE]),
      noWrap: true,
      keepBuffer: 1,
      minZoom: -4,
      maxZoom: 40,
    });
    Object.assign(this, { release, frame, look, view: "estimate" });
  },

  createTile(coords, done) {
    const tile = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    const size = this.getTileSize();
    tile.width = Math.round(size.x * ratio);
    tile.height = Math.round(size.y * ratio);
    tile.setAttribute("role", "presentation");
    this.paint(tile, coords);
    setTimeout(done, 0, null, tile);
    return tile;
  },

  /** Paint all tiles again, in place. */
  repaint() {
    for (const { el, coords } of Object.values(this._tiles)) this.paint(el, coords);
  },

  paint(tile, coords) {
    const size = this.getTileSize();
    const context = tile.getContext("2d");
    context.clearRect(0, 0, tile.width, tile.height);
    const scales = this.frame.scales(coords.z);
    const ratio = tile.width / size.x;
    const origin = [coords.x * size.x, coords.y * size.y];
    const view = [
      origin[0] / scales[0],
      -(origin[1] + size.y) / scales[1],
      (origin[0] + size.x) / scales[0],
      -origin[1] / scales[1],
    ];
    const across = (x) => Math.round((x * scales[0] - origin[0]) * ratio);
    const down = (y) => Math.round((-y * scales[1] - origin[1]) * ratio);
    const noise = hatching(context, ratio, this.look.theme.paper, this.look.theme.ink);
    this.release.estimate.visit(view, scales, (cell) => {
      const [west, south, east, north] = [across(cell.box[0]), down(cell.box[1]), across(cell.box[2]), down(cell.box[3])];
      context.fillStyle = this.colour(cell) ?? noise;
      context.fillRect(west, north, east - west, south - north);
      if (Math.min(east - west, south - north) < OUTLINED * ratio) return;
      context.strokeStyle = this.look.theme.line;
      context.lineWidth = 1;
      context.strokeRect(west + 0.5, north + 0.5, east - west, south - north);
    });
  },

  /** Colour of a cell; null where the interval contains zero. */
  colour({ box, estimate, size }) {
    const { scale, colours, theme } = this.look;
    if (this.view === "estimate") return estimateColour(estimate / size, scale, colours);
    const index = classOf(this.release.withInterval(estimate, this.release.halfWidth(box)).relative);
    return index < 0 ? null : theme.classes[index];
  },
});

/** The cell, block or node that the map shows at a place; undefined where there is none. */
export function cellAt(estimate, frame, latlng, zoom) {
  const [x, y] = frame.lattice(latlng);
  if (x < 0 || y < 0 || x >= LATTICE || y >= LATTICE) return undefined;
  let cellThere;
  estimate.visit([x, y, x, y], frame.scales(zoom), (cell) => (cellThere = cell));
  return cellThere;
}

/** A rectangle with a light edge around a dark one, visible on any colour. */
export function markedBox(weight, dashArray) {
  const style = { interactive: false, fill: false };
  const edges = [
    L.rectangle([[0, 0], [0, 0]], { ...style, color: "#ffffff", weight: weight + 2.5 }),
    L.rectangle([[0, 0], [0, 0]], { ...style, color: "#101418", weight, dashArray }),
  ];
  const group = L.layerGroup(edges);
  group.setBounds = (bounds) => {
    edges.forEach((edge) => edge.setBounds(bounds));
    return group;
  };
  return group;
}

/** Let + zoom in by one step. Leaflet zooms by three with Shift, which many keyboards need to type a plus. */
function singleSteps(map) {
  const zoom = (event) => {
    if (event.key !== "+" || event.target !== map.getContainer()) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    map.zoomIn(1);
  };
  map.getContainer().addEventListener("keydown", zoom, { capture: true });
}

/** Make Leaflet's map. */
export function makeMap(container, frame, finest) {
  const whole = L.latLngBounds(frame.box([0, 0, LATTICE, LATTICE]));
  const deepest = Math.ceil(Math.log2(200 / (finest * frame.width)));
  const map = L.map(container, {
    crs: L.CRS.Simple,
    minZoom: -2,
    maxZoom: Math.min(Math.max(deepest, 1), 20),
    maxBounds: whole.pad(0.5),
    attributionControl: false,
    boxZoom: false,
    fadeAnimation: false,
    renderer: L.canvas({ padding: 0.3 }),
    zoomControl: false,
  });
  singleSteps(map);
  L.control.zoom({ position: "topright" }).addTo(map);
  map.setView(whole.getCenter(), 0, { animate: false });
  return map;
}

/** The outlines of the domain and its region, and boundaries, each as a layer; null where there are none. */
export function lineLayers(frame, outline, boundaries) {
  const style = { interactive: false, fill: false };
  const drawn = (data, look) => {
    const lines = linesOf(data).map((line) => line.map(([x, y]) => frame.place(x, y)));
    return L.polyline(lines, { ...style, ...look });
  };
  const edge = L.rectangle(frame.box([0, 0, LATTICE, LATTICE]), { ...style, weight: 1.2, opacity: 0.5 });
  const outlines = L.layerGroup(outline ? [edge, drawn(outline, { weight: 1.2 })] : [edge]);
  // Boundaries have a light edge, which is visible on dark cells, or a dark one on a dark page.
  const borders = boundaries && {
    under: drawn(boundaries, { weight: 2.6, opacity: 0.5 }),
    over: drawn(boundaries, { weight: 0.9, opacity: 0.9 }),
  };
  return { outlines, borders };
}
