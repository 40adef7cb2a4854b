// How do released cells become a map? As tiles that are painted here; Leaflet pans and zooms them.

import { estimateColour, hatching, uncertaintyColour } from "./colours.mjs";
import { LATTICE } from "./lattice.mjs";
import { linesOf } from "./lines.mjs";

/** Cells at least this many pixels wide and high get an outline. */
const OUTLINED = 14;

/** Lines between cells; outlines and marks are dark with a light edge, so that they are visible on any colour. */
const BETWEEN_CELLS = "rgb(255 255 255 / 35%)";
const DARK = "#101418";
const LIGHT = "#ffffff";

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

  /** A cleared tile: its context, its part of the lattice, and the way from Leaflet's units to its pixels. */
  tileFrame(tile, coords) {
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
    const zoom = ratio * 2 ** coords.z;
    const matrix = new DOMMatrix([zoom, 0, 0, -zoom, -origin[0] * ratio, -origin[1] * ratio]);
    return { context, scales, ratio, origin, view, matrix };
  },

  paint(tile, coords) {
    const { context, scales, ratio, origin, view } = this.tileFrame(tile, coords);
    const across = (x) => Math.round((x * scales[0] - origin[0]) * ratio);
    const down = (y) => Math.round((-y * scales[1] - origin[1]) * ratio);
    const noise = hatching(context, ratio, this.look.noise, this.view === "estimate" ? this.look.noise.veil : 1);
    this.release.estimate.visit(view, scales, (cell) => {
      const [west, south, east, north] = [across(cell.box[0]), down(cell.box[1]), across(cell.box[2]), down(cell.box[3])];
      const { colour, marked } = this.colours(cell);
      for (const fill of marked ? [colour, noise] : [colour]) {
        if (!fill) continue;
        context.fillStyle = fill;
        context.fillRect(west, north, east - west, south - north);
      }
      if (Math.min(east - west, south - north) < OUTLINED * ratio) return;
      context.strokeStyle = BETWEEN_CELLS;
      context.lineWidth = 1;
      context.strokeRect(west + 0.5, north + 0.5, east - west, south - north);
    });
  },

  /** Colour of a cell, if it has one in this view, and whether it is marked because it may be noise alone. */
  colours({ box, estimate, cells, half = this.release.halfWidth(box) }) {
    const { scale, colours, classes, sizeOf } = this.look;
    // Biased releases have no intervals, a half-width of null, and no marks.
    const marked = half !== null && estimate < half;
    if (this.view === "estimate") return { colour: estimateColour(estimate / sizeOf(box, cells), scale, colours), marked };
    return { colour: uncertaintyColour(this.release.withInterval(estimate, half).relative, classes), marked };
  },
});

/** The cell, block or node that the map shows at a place; undefined where there is none. */
export function cellAt(estimate, frame, latlng, zoom) {
  const [x, y] = frame.lattice(latlng);
  if (estimate.at) return estimate.at([x, y]);
  if (x < 0 || y < 0 || x >= LATTICE || y >= LATTICE) return undefined;
  let cellThere;
  estimate.visit([x, y, x, y], frame.scales(zoom), (cell) => (cellThere = cell));
  return cellThere;
}

/** Lines with a light edge around a dark one, visible on any colour. */
export function markedLines(weight) {
  const style = { interactive: false, fill: false };
  const edges = [
    L.polyline([], { ...style, color: LIGHT, weight: weight + 2.5 }),
    L.polyline([], { ...style, color: DARK, weight }),
  ];
  const group = L.layerGroup(edges);
  group.setLines = (lines) => {
    edges.forEach((edge) => edge.setLatLngs(lines));
    return group;
  };
  return group;
}

/** A rectangle with a light edge around a dark one, visible on any colour. */
export function markedBox(weight, dashArray) {
  const style = { interactive: false, fill: false };
  const edges = [
    L.rectangle([[0, 0], [0, 0]], { ...style, color: LIGHT, weight: weight + 2.5 }),
    L.rectangle([[0, 0], [0, 0]], { ...style, color: DARK, weight, dashArray }),
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

/** The outlines of the domain and its region, and boundaries (null if there are none), as layers. */
export function lineLayers(frame, outline, boundaries) {
  const drawn = (lines, weight) => {
    const style = { interactive: false, fill: false };
    return L.layerGroup([
      L.polyline(lines, { ...style, color: LIGHT, weight: weight + 1.6, opacity: 0.6 }),
      L.polyline(lines, { ...style, color: DARK, weight, opacity: 0.9 }),
    ]);
  };
  const placed = (data) => linesOf(data).map((line) => line.map(([x, y]) => frame.place(x, y)));
  const corners = [[0, 0], [LATTICE, 0], [LATTICE, LATTICE], [0, LATTICE], [0, 0]];
  const edge = corners.map(([x, y]) => frame.place(x, y));
  return {
    outlines: drawn([edge, ...(outline ? placed(outline) : [])], 1.1),
    borders: boundaries && drawn(placed(boundaries), 0.8),
  };
}
