// How do release, map, legend and form work together? `Page` connects them and writes every text that changes.

import { Release } from "./answers.mjs";
import { placeOf, sizes, ticksOf } from "./colours.mjs";
import { boxDrawing } from "./drag.mjs";
import { coordinateOf, isOutside, snapBox } from "./lattice.mjs";
import { CellLayer, Frame, cellAt, lineLayers, makeMap, markedBox } from "./map.mjs";
import { dataOf, mapNumber } from "./parts.mjs";
import { inWords, rangeInWords, short } from "./text.mjs";

const SIDES = ["xmin", "ymin", "xmax", "ymax"];
const MAYBE_NOISE = "The estimate is not larger than its half-width: this may be noise alone.";
const MAYBE_NOISE_HERE = "may be noise alone";

export const element = (id) => document.getElementById(id);

export function make(tag, text, className) {
  const created = document.createElement(tag);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}

export class Page {
  constructor(data) {
    this.data = data;
    this.release = new Release(data);
    this.look = { scale: data.scale, sizeOf: sizes(data.per), ...data.look };
    this.frame = new Frame(element("map"), data.ratio);
    this.map = makeMap(element("map"), this.frame, data.finest);
    this.layer = this.makeLayer().addTo(this.map);
    Object.assign(this, lineLayers(this.frame, data.outline, data.boundaries));
    this.borders?.addTo(this.map);
    this.outlines.addTo(this.map);
    [this.chosen, this.pointed] = this.makeMarkers();
    this.listen();
    this.listenToQuestions();
    this.listenToParts();
    this.showLegend();
  }

  /** Show another map of a table when one of its parts is chosen; a question that was asked is asked again. */
  listenToParts() {
    const [first, selects] = [this.data, [...document.querySelectorAll("select.part")]];
    const changed = () => {
      const choices = selects.map(({ selectedIndex }) => selectedIndex);
      this.data = dataOf(first, mapNumber(choices, first.table.sizes));
      this.replace();
      this.point(null, "off");
      this.show(this.layer.view);
      this.askAgain?.();
    };
    selects.forEach((select) => select.addEventListener("change", changed));
  }

  /** Show the numbers of another map of the same places. */
  replace() {
    this.release = new Release(this.data);
    this.layer.release = this.release;
    this.look.scale = this.data.scale;
  }

  /** The layer that shows the release. */
  makeLayer() {
    return new CellLayer(this.release, this.frame, this.look);
  }

  /** What marks the question that was asked, and the cell that is read out. */
  makeMarkers() {
    return [markedBox(2, "6 4"), markedBox(1.5)];
  }

  listenToQuestions() {
    const draw = boxDrawing(this.map, this.chosen, (ends) => this.askEnds(ends));
    element("draw").addEventListener("click", (event) => {
      const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
      event.currentTarget.setAttribute("aria-pressed", on);
      draw(on);
      if (on) element("map").scrollIntoView({ block: "nearest" });
    });
    element("box").addEventListener("submit", (event) => {
      event.preventDefault();
      this.askForm();
    });
  }

  listen() {
    document.querySelectorAll("input[name=view]").forEach((input) => {
      input.addEventListener("change", () => this.show(input.value));
    });
    element("boundaries")?.addEventListener("change", ({ target }) => {
      this.borders.eachLayer((line) => line.setStyle({ stroke: target.checked }));
    });
    this.map.on("mousemove", ({ latlng, originalEvent: { movementX, movementY } }) => {
      // Browsers also send the event, without a movement, when the page moves under the mouse.
      if (movementX || movementY) this.pointMouse(latlng);
    });
    this.map.on("click", ({ latlng }) => this.pointMouse(latlng));
    this.map.on("moveend", () => this.pointCentre());
    element("map").addEventListener("mouseleave", () => {
      if (element("readout").getAttribute("aria-live") === "off") this.point(null, "off");
    });
    element("map").addEventListener("focus", () => this.pointCentre());
    element("map").addEventListener("blur", () => this.point(null, "off"));
  }

  /** Read out the cell under the cross in the middle, for users of the keyboard. */
  pointCentre() {
    if (element("map").matches(":focus-visible")) this.point(this.map.getCenter(), "polite");
  }

  /** Read out the cell under the mouse or finger; the readout gets out of its way. */
  pointMouse(latlng) {
    this.point(latlng, "off");
    const [{ x, y }, readout] = [this.map.latLngToContainerPoint(latlng), element("readout")];
    const [area, frame] = [readout.getBoundingClientRect(), element("map").getBoundingClientRect()];
    const margin = 30;
    const away = y + frame.top < area.top - margin || y + frame.top > area.bottom + margin;
    if (!away && x + frame.left < area.right + margin) readout.classList.toggle("high");
  }

  /** Write what the map shows at a place. */
  point(latlng, live) {
    const cell = latlng && cellAt(this.release.estimate, this.frame, latlng, this.map.getZoom());
    const readout = element("readout");
    readout.setAttribute("aria-live", live);
    if (!cell) {
      this.pointed.remove();
      readout.textContent = latlng ? "Outside the map" : "";
      return;
    }
    this.mark(cell);
    const answer = this.release.askCell(cell);
    const words = inWords(answer);
    readout.replaceChildren(make("strong", words.estimate), ` ${this.data.counted} · ${cell.name}`);
    const where = this.whereabouts(cell);
    if (where.length) readout.append(make("br"), ...where);
    if (answer.half !== null) readout.append(make("br"), `${this.data.percent} % interval ${words.interval}`);
    if (answer.relative >= 1) readout.append(make("br"), make("em", MAYBE_NOISE_HERE));
  }

  /** Mark the cell that is read out. */
  mark({ box }) {
    this.pointed.setBounds(this.frame.box(box)).addTo(this.map);
  }

  /** The sides of a cell in the domain's coordinates, one range for each axis. */
  whereabouts({ box: shown, own: box = shown }) {
    const { axes, bounds } = this.data;
    return axes.flatMap((name, axis) => {
      const [low, high] = [box[axis], box[axis + 2]].map((line) => coordinateOf(line, bounds[axis], bounds[axis + 2]));
      return [axis ? ", " : "", make("span", `${name} ${rangeInWords(low, high)}`, "range")];
    });
  }

  /** The numbers for a box. */
  answer(box) {
    return this.release.ask(box);
  }

  /** What the colours stand for, in words. */
  get unit() {
    return this.data.unit;
  }

  /** Write a short answer on the map, for small screens that do not show the long one. */
  sayAtMap(estimate, what) {
    element("readout").setAttribute("aria-live", "off");
    element("readout").replaceChildren(make("strong", estimate), ` ${what}`);
  }

  show(view) {
    this.layer.view = view;
    this.layer.repaint();
    this.showLegend();
  }

  // --- boxes -----------------------------------------------------------------------------------

  askEnds(ends) {
    const [one, other] = ends.map((end) => this.frame.lattice(end));
    const lines = [0, 1].map((axis) => [one[axis], other[axis]].sort((a, b) => a - b));
    const [left, bottom, right, top] = this.data.bounds;
    const coordinate = (line, axis) => coordinateOf(line, axis ? bottom : left, axis ? top : right);
    const sides = [0, 1].flatMap((end) => lines.map((pair, axis) => coordinate(pair[end], axis)));
    SIDES.forEach((side, i) => (element(side).value = sides[i].toFixed(this.data.decimals)));
    this.askForm();
    const estimate = element("result").querySelector(".estimate dd");
    if (estimate) this.sayAtMap(estimate.textContent, `${this.data.counted} in the box`);
  }

  /** Answer the box in the form; boxes drawn on the map are written into the form first. */
  askForm() {
    const box = SIDES.map((side) => element(side).valueAsNumber);
    const missing = SIDES.find((_, i) => Number.isNaN(box[i]));
    if (missing) return this.complain(`Give a number for ${missing}.`);
    if (box[0] > box[2]) return this.complain("xmin must not exceed xmax.");
    if (box[1] > box[3]) return this.complain("ymin must not exceed ymax.");
    if (isOutside(box, this.data.bounds)) return this.complain("The box lies outside the map, which tells nothing there.");
    this.chosen.setBounds(this.frame.box(snapBox(box, this.data.bounds))).addTo(this.map);
    this.askAgain = () => this.askForm();
    return this.showAnswer(this.release.ask(box));
  }

  complain(text) {
    this.chosen.remove();
    this.askAgain = undefined;
    element("result").replaceChildren(make("p", text, "warning"));
  }

  showAnswer(answer) {
    const words = inWords(answer);
    const list = make("dl");
    const entry = (name, value, className) => {
      const pair = make("div", undefined, className);
      pair.append(make("dt", name), make("dd", value));
      list.append(pair);
    };
    entry(`Estimated ${this.data.counted}`, words.estimate, "estimate");
    entry(`${this.data.percent} % interval`, words.interval, "interval");
    entry("Relative uncertainty", words.relative, "relative");
    element("result").replaceChildren(list);
    if (answer.half === null) element("result").append(make("p", this.data.biasedReason, "note"));
    if (answer.relative >= 1) element("result").append(make("p", MAYBE_NOISE, "warning"));
  }

  // --- legend ----------------------------------------------------------------------------------

  showLegend() {
    const estimates = this.layer.view === "estimate";
    element("legend").replaceChildren(...(estimates ? this.estimateLegend() : this.uncertaintyLegend()));
  }

  estimateLegend() {
    const { scale, colours } = this.look;
    const bar = make("div", undefined, "bar");
    const stops = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];
    const shades = stops.map((stop) => colours[Math.round(stop * (colours.length - 1))]);
    bar.style.background = `linear-gradient(to right, ${shades.join(", ")})`;
    const ticks = make("div", undefined, "ticks");
    for (const value of ticksOf(scale)) {
      const tick = make("span", short(value));
      tick.style.left = `${100 * placeOf(value, scale)}%`;
      ticks.append(tick);
    }
    const legend = [make("p", this.unit), bar, ticks];
    if (this.data.biased) return legend;
    const marks = make("ul");
    marks.append(this.noiseEntry(`may be noise alone: estimate below the half-width of its ${this.data.percent} % interval`));
    return [...legend, marks];
  }

  uncertaintyLegend() {
    const { ends, colours } = this.look.classes;
    const list = make("ul");
    ends.forEach((end, i) => {
      const name = i ? `±${100 * ends[i - 1]} to ${100 * end} %` : `up to ±${100 * end} %`;
      const item = make("li");
      const swatch = make("span", undefined, "swatch");
      swatch.style.background = colours[i];
      item.append(swatch, make("span", name));
      list.append(item);
    });
    list.append(this.noiseEntry("more: may be noise alone"));
    return [make("p", `Half-width of the ${this.data.percent} % interval, relative to the estimate`), list];
  }

  noiseEntry(name) {
    const { paper, ink } = this.look.noise;
    const item = make("li");
    const swatch = make("span", undefined, "swatch");
    swatch.style.background = `repeating-linear-gradient(135deg, ${paper} 0 3.2px, ${ink} 3.2px 4.2px)`;
    item.append(swatch, make("span", name));
    return item;
  }
}
