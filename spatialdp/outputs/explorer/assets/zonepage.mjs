// How does the page of zones differ from that of cells? It shows one level at a time, and is asked for zones by code.

import { Page, element, make } from "./page.mjs";
import { ZoneLayer, markedZone } from "./zonemap.mjs";
import { boxAround } from "./zones.mjs";

export class ZonePage extends Page {
  makeLayer() {
    this.look.scale = this.data.scales.at(-1);
    return new ZoneLayer(this.release, this.frame, this.look);
  }

  makeMarkers() {
    return [markedZone(this.frame, 2.2), markedZone(this.frame, 1.5)];
  }

  listenToQuestions() {
    element("level").addEventListener("change", ({ target }) => this.showLevel(Number(target.value)));
    element("zone").addEventListener("submit", (event) => {
      event.preventDefault();
      this.askCode(element("code").value.trim());
    });
  }

  /** The polygons stay, with their paths; numbers are those of the map. */
  replace() {
    const { values, variances, kurtosis } = this.data.estimate;
    Object.assign(this.release.estimate, { values, variances, kurtosis });
    this.release.measure();
    this.look.scale = this.data.scales[this.release.estimate.level];
  }

  /** Show the zones of a level, with its own colour scale. */
  showLevel(level) {
    this.release.estimate.level = level;
    this.look.scale = this.data.scales[level];
    this.point(null, "off");
    this.show(this.layer.view);
  }

  get unit() {
    return this.data.units[this.release.estimate.level];
  }

  mark({ node }) {
    this.pointed.setPieces(this.release.estimate.outlineOf(node)).addTo(this.map);
  }

  whereabouts({ node }) {
    const above = this.release.estimate.above(node);
    return above.length ? [make("span", `in ${above.join(", ")}`, "range")] : [];
  }

  /** The numbers for the zone with a code; undefined if there is none. */
  answer(code) {
    const { estimate } = this.release;
    const node = estimate.find(code);
    return node === undefined ? undefined : this.release.askCell(estimate.zone(node));
  }

  /** Answer for the zone with a code, outline it, and bring it into view. */
  askCode(code) {
    const { estimate } = this.release;
    const node = estimate.find(code);
    if (!code) return this.complain(`Give the code of a zone, such as ${this.data.example}.`);
    if (node === undefined) {
      return this.complain(`No zone on this page has the code ${code}; codes look like ${this.data.example}.`);
    }
    const areas = estimate.areasOf(node);
    this.chosen.setPieces(estimate.outlineOf(node)).addTo(this.map);
    this.map.fitBounds(this.frame.box(boxAround(areas)), { animate: false, maxZoom: Math.max(this.map.getZoom(), 3) });
    this.askAgain = () => this.tell(node);
    return this.tell(node);
  }

  /** Write the answer for a zone. */
  tell(node) {
    const { estimate } = this.release;
    this.showAnswer(this.release.askCell(estimate.zone(node)));
    const name = estimate.nameOf(node);
    element("result").prepend(make("p", [name, ...estimate.above(node)].join(", "), "note"));
    this.sayAtMap(element("result").querySelector(".estimate dd").textContent, `${this.data.counted} · ${name}`);
    return undefined;
  }
}
