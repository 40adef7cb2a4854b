// Which colour does a number get? Estimates have a continuous scale, relative uncertainties have classes.

import { LATTICE, coverage, weightedSum } from "./lattice.mjs";

/**
 * A function from a lattice box and its number of cells to its size in the unit that densities are for: cells, shares of
 * the map, or km², from prefix sums of the areas of equal parts of the domain.
 */
export function sizes({ unit, areas }) {
  if (unit === "cell") return (_, cells) => cells;
  if (unit === "map") return (box) => 1000 * ((box[2] - box[0]) / LATTICE) * ((box[3] - box[1]) / LATTICE);
  const parts = Math.sqrt(areas.length) - 1;
  return (box) => weightedSum(areas, parts, coverage(box[0], box[2], parts), coverage(box[1], box[3], parts), 1);
}

/** Place of a density on the colour scale, 0 to 1: linear near zero, logarithmic above `soft`. */
export function placeOf(density, { soft, high }) {
  return Math.min(Math.max(Math.asinh(density / soft) / Math.asinh(high / soft), 0), 1);
}

/** Colour of a density. */
export function estimateColour(density, scale, colours) {
  return colours[Math.round(placeOf(density, scale) * (colours.length - 1))];
}

/** Colour of a relative uncertainty, half-width / |estimate|; undefined from 1 on: it may be noise alone. */
export function uncertaintyColour(relative, { ends, colours }) {
  return colours[ends.findIndex((end) => relative < end)];
}

/** Round numbers for the ticks of the scale, from zero to its end, far enough from each other to be read. */
export function ticksOf(scale) {
  const ticks = [0];
  let last = 0;
  for (let power = Math.floor(Math.log10(scale.soft)); power <= Math.log10(scale.high); power++) {
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** power;
      const place = placeOf(value, scale);
      if (value <= scale.high && place - last >= 0.16) {
        ticks.push(value);
        last = place;
      }
    }
  }
  return ticks;
}

/**
 * Thin diagonal lines, as a canvas pattern, for cells that may be noise alone. What is below fades towards the paper by
 * the share `veil`.
 */
export function hatching(context, ratio, { paper, ink }, veil) {
  const side = Math.round(8 * ratio); // divides a tile, so that lines continue in the next tile
  const tile = document.createElement("canvas");
  tile.width = tile.height = side;
  const pen = tile.getContext("2d");
  pen.globalAlpha = veil;
  pen.fillStyle = paper;
  pen.fillRect(0, 0, side, side);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink;
  pen.lineWidth = ratio;
  for (const shift of [-side, 0, side]) {
    pen.beginPath();
    pen.moveTo(shift - 1, side + 1);
    pen.lineTo(shift + side + 1, -1);
    pen.stroke();
  }
  return context.createPattern(tile, "repeat");
}
