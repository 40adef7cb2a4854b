// Which map of a table does the page show? That of the chosen parts: a time, a category. They share all but numbers.

/** The number of a map: the place of each choice among the parts of its axis, the last axis changing fastest. */
export function mapNumber(choices, sizes) {
  return choices.reduce((number, choice, axis) => number * sizes[axis] + choice, 0);
}

/** The page's data for a map, given those of the first one; equal arrays of several maps are held once, in a pool. */
export function dataOf(first, number) {
  const { maps, pool } = first.table;
  const { estimate, ...others } = maps[number];
  const changed = Object.fromEntries(Object.entries(estimate).map(([name, place]) => [name, pool[place]]));
  return { ...first, ...others, estimate: { ...first.estimate, ...changed } };
}
