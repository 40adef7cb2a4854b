// How does the page begin? It unpacks its data, and makes the page for this kind of release.

import { Page, element, make } from "./page.mjs";
import { ZonePage } from "./zonepage.mjs";
import { unpackAll } from "./unpack.mjs";

async function start() {
  const data = await unpackAll(JSON.parse(element("data").textContent));
  const page = data.kind === "zones" ? new ZonePage(data) : new Page(data);
  // For scripts and tests: the numbers that the page shows, before rounding.
  window.explorer = { ask: (question) => page.answer(question), map: page.map, frame: page.frame };
  requestAnimationFrame(() =>
    setTimeout(() => {
      performance.mark("painted");
      document.documentElement.dataset.ready = "true";
    }),
  );
}

start().catch((error) => {
  const message = "This page could not be shown; open it in a browser from 2023 or later.";
  element("result").replaceChildren(make("p", `${message} (${error.message})`, "warning"));
  throw error;
});
