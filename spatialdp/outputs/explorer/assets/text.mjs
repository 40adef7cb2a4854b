// How are numbers and answers written on the page? With as many digits as their noise allows.

/** A number with this many decimals, commas between thousands and a true minus sign. */
export function number(value, decimals) {
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString("en-GB", options).replace("-", "−");
}

/** Number of decimals for an estimate with this half-width: enough to show about two digits of the noise. */
export function decimalsFor(half) {
  if (half === null || half === 0) return 1;
  return Math.min(Math.max(Math.ceil(1 - Math.log10(half)), 0), 3);
}

/** Estimate, interval and relative uncertainty of an answer, as texts. */
export function inWords({ estimate, half, low, high, relative }) {
  const decimals = decimalsFor(half);
  if (half === null) return { estimate: number(estimate, decimals), interval: "none", relative: "unknown" };
  return {
    estimate: number(estimate, decimals),
    interval: `${number(low, decimals)} to ${number(high, decimals)}`,
    relative: percent(relative),
  };
}

function percent(relative) {
  if (!(relative < 10)) return "more than ±1,000 %";
  return `±${number(100 * relative, relative < 0.1 ? 1 : 0)} %`;
}

/** A number for a legend: two digits at most. */
export function short(value) {
  return value.toLocaleString("en-GB", { maximumSignificantDigits: 2 });
}

/** A range of coordinates, with as many decimals as three digits of its length need, and no zeros at the end. */
export function rangeInWords(low, high) {
  const decimals = Math.min(Math.max(Math.ceil(2 - Math.log10(high - low)), 0), 20);
  const written = (value) => value.toLocaleString("en-GB", { maximumFractionDigits: decimals }).replace("-", "−");
  return `${written(low)} to ${written(high)}`;
}
