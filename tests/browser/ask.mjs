// Answers boxes as the explorer's page does: {page data, boxes} in JSON from standard input, answers to standard output.

import { readFileSync } from "node:fs";

const source = new URL("../../spatialdp/outputs/explorer/assets/", import.meta.url);
const { Release } = await import(new URL("answers.mjs", source));
const { unpackAll } = await import(new URL("unpack.mjs", source));

const { data, boxes } = JSON.parse(readFileSync(0, "utf8"));
const release = new Release(await unpackAll(data));
const started = performance.now();
const answers = boxes.map((box) => release.ask(box));
const milliseconds = (performance.now() - started) / boxes.length;
process.stdout.write(JSON.stringify({ answers, milliseconds }));
