// How do zones become a map? As polygons that are painted on tiles, each in the colour of the zone that it belongs to.

import { estimateColour, hatching, uncertaintyColour } from "./colours.mjs";
import { CellLayer, markedLines } from "./map.mjs";

/** Areas at least this many pixels wide and high get an outline. */
const OUTLINED_AREA = 10;

const BETWEEN_AREAS = "rgb(255 255 255 / 45%)";
const BETWEEN_ZONES = "rgb(16 20 24 / 70%)";

/** Layer of tiles that shows the zones of the chosen level. */
export const ZoneLayer = CellLayer.extend({
  paint(tile, coords) {
    const { context, ratio, view, matrix } = this.tileFrame(tile, coords);
    const noise = hatching(context, ratio, this.look.noise, this.view === "estimate" ? this.look.noise.veil : 1);
    const { estimate } = this.release;
    const near = estimate.areas.filter(({ box }) => meets(box, view));
    for (const area of near) {
      const path = onTile(this.pathOf(area), matrix);
      const { colour, marked } = this.zoneColours(estimate.zone(estimate.shownAs(area.node)));
      for (const fill of marked ? [colour, noise] : [colour]) this.fill(context, path, fill, ratio);
    }
    near.forEach((area) => this.outline(context, area, matrix, ratio));
    estimate.borders.slice(0, estimate.level + 1).forEach((lines, depth) => {
      context.strokeStyle = BETWEEN_ZONES;
      context.lineWidth = (0.5 + 0.9 / Math.max(depth, 1)) * ratio;
      context.stroke(onTile(this.borderPath(lines), matrix));
    });
  },

  /** Fill an area; a thin line in its own colour covers the seam to its neighbour. */
  fill(context, path, fill, ratio) {
    if (!fill) return;
    context.fillStyle = fill;
    context.fill(path, "evenodd");
    if (typeof fill !== "string") return;
    context.strokeStyle = fill;
    context.lineWidth = 0.6 * ratio;
    context.stroke(path);
  },

  /** Outline an area that is large enough, if the map shows the lowest level. */
  outline(context, area, matrix, ratio) {
    const { estimate } = this.release;
    const [[south, west], [north, east]] = this.frame.box(area.box);
    const size = Math.min(east - west, north - south) * matrix.a;
    if (estimate.level < estimate.levels.length - 1 || size < OUTLINED_AREA * ratio) return;
    context.strokeStyle = BETWEEN_AREAS;
    context.lineWidth = ratio;
    context.stroke(onTile(this.pathOf(area), matrix));
  },

  pathOf(area) {
    area.path ??= this.pathAlong(area.rings, true);
    return area.path;
  },

  borderPath(lines) {
    lines.path ??= this.pathAlong(lines, false);
    return lines.path;
  },

  /** A path along lines, in Leaflet's units with y pointing up. */
  pathAlong(lines, closed) {
    const path = new Path2D();
    for (const line of lines) {
      line.forEach(([x, y], i) => {
        const [lat, lng] = this.frame.place(x, y);
        path[i ? "lineTo" : "moveTo"](lng, lat);
      });
      if (closed) path.closePath();
    }
    return path;
  },

  /** Colour of a zone, if it has one in this view, and whether it is marked because it may be noise alone. */
  zoneColours({ estimate, half, size }) {
    const { scale, colours, classes } = this.look;
    const marked = half !== null && estimate < half;
    if (this.view === "estimate") return { colour: estimateColour(estimate / size, scale, colours), marked };
    return { colour: uncertaintyColour(this.release.withInterval(estimate, half).relative, classes), marked };
  },
});

function onTile(path, matrix) {
  const placed = new Path2D();
  placed.addPath(path, matrix);
  return placed;
}

function meets(box, view) {
  return box[0] <= view[2] && box[2] >= view[0] && box[1] <= view[3] && box[3] >= view[1];
}

/** A marker for zones: their outlines. */
export function markedZone(frame, weight) {
  const lines = markedLines(weight);
  lines.setPieces = (pieces) => lines.setLines(pieces.map((piece) => piece.map(([x, y]) => frame.place(x, y))));
  return lines;
}
