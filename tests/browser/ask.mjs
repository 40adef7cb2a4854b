// Answers boxes as the explorer's page does: {page data, boxes, number of a map or null} in JSON from standard input, answers to standard output.

import { readFileSync } from "node:fs";

const source = new URL("../../spatialdp/outputs/explorer/assets/", import.meta.url);
const { Release } = await import(new URL("answers.mjs", source));
const { unpackAll } = await import(new URL("unpack.mjs", source));

const { dataOf } = await import(new URL("parts.mjs", source));

const { data, boxes, map } = JSON.parse(readFileSync(0, "utf8"));
const first = await unpackAll(data);
// Of a table, the maps before this one are shown too, as when a reader goes from one to the next.
const maps = map === null ? [first] : Array.from({ length: map + 1 }, (_, number) => dataOf(first, number));
const release = maps.map((each) => new Release(each)).at(-1);
const started = performance.now();
const answers = boxes.map((box) => release.ask(box));
const milliseconds = (performance.now() - started) / boxes.length;
process.stdout.write(JSON.stringify({ answers, milliseconds }));
