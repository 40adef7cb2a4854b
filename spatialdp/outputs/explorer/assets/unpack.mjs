// How are the page's arrays read? They are deflated little-endian numbers in base64, packed by explorer/data.py.

const KINDS = { f8: Float64Array, i4: Int32Array, u1: Uint8Array };

/** Unpack one array. */
export async function unpack({ kind, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new KINDS[kind](await new Response(stream).arrayBuffer());
}

/** Unpack all arrays in a value, at any depth. */
export async function unpackAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.data === "string" && value.kind in KINDS) return unpack(value);
  if (Array.isArray(value)) return Promise.all(value.map(unpackAll));
  const entries = Object.entries(value).map(async ([name, part]) => [name, await unpackAll(part)]);
  return Object.fromEntries(await Promise.all(entries));
}
