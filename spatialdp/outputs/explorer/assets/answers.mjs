// What does a release answer for a box? Estimate, interval and relative uncertainty, as in the library.

import { FieldEstimate } from "./field.mjs";
import { GridEstimate } from "./grid.mjs";
import { snapBox } from "./lattice.mjs";
import { ListedEstimate } from "./listed.mjs";
import { ListOverMapEstimate } from "./overmap.mjs";
import { TreeEstimate } from "./tree.mjs";
import { ZoneEstimate } from "./zones.mjs";

const ESTIMATES = {
  field: FieldEstimate,
  grid: GridEstimate,
  listed: ListedEstimate,
  "listed-map": ListOverMapEstimate,
  tree: TreeEstimate,
  zones: ZoneEstimate,
};

/** Smaller allowances, in counts squared, are rounding errors of sums. */
const ROUNDING = 1e-6;

export class Release {
  constructor(data) {
    const { bounds, quantiles, level, biased } = data;
    Object.assign(this, { bounds, quantiles, level, biased });
    this.estimate = new ESTIMATES[data.kind](data.estimate);
    /** The estimate that intervals are made of. */
    this.unbiased = this.estimate.unbiased ?? this.estimate;
    this.measure();
  }

  /** Compute the half-widths of an estimate that keeps them. */
  measure() {
    const { quantiles, level } = this;
    this.estimate.measure?.((variance, kurtosis, step) => halfWidth(variance, kurtosis, step, quantiles, level, false));
  }

  /** Answer a box (xmin, ymin, xmax, ymax) in the domain's coordinates. */
  ask(box) {
    return this.askLattice(snapBox(box, this.bounds));
  }

  /** Answer a lattice box, with an interval about the true count. Biased releases have no intervals. */
  askLattice(box) {
    const answer = this.estimate.answer(box);
    if (this.biased) return this.withInterval(answer, null);
    const { variance, shift } = this.unbiased.allowance(box);
    const half = Math.max(this.halfWidth(box), this.widened(box, variance));
    const middle = this.unbiased.answer(box) + shift;
    return this.withInterval(this.estimate.extrapolates ? middle : answer, half, middle);
  }

  /** The estimate of a cell, node or zone of the map, with its interval; a field's cells are parts of leaves. */
  askCell({ box, estimate, half }) {
    if (half !== undefined) return this.withInterval(estimate, half);
    return this.unbiased === this.estimate ? this.withInterval(estimate, this.halfWidth(box)) : this.askLattice(box);
  }

  /** An answer with its interval around `middle`; counts are not negative, so the ends are not below 0. */
  withInterval(estimate, half, middle = estimate) {
    if (half === null) return { estimate, half, low: null, high: null, relative: null };
    const relative = half === 0 ? 0 : half / Math.abs(estimate);
    return { estimate, half, low: Math.max(middle - half, 0), high: Math.max(middle + half, 0), relative };
  }

  /**
   * Half-width of the interval about noise, which is that about the truth for whole cells; null if there is none.
   * Where only the total was measured, records may lie anywhere, and cells have an allowance too.
   */
  halfWidth(box) {
    if (this.biased) return null;
    const estimate = this.unbiased;
    const half = halfWidth(...estimate.moments(box), estimate.step, this.quantiles, this.level, estimate.inSteps(box));
    return estimate.noiseOfTotal ? Math.max(half, this.widened(box, estimate.allowance(box).variance)) : half;
  }

  /** Half-width with an allowance, if there is one: it has Laplace tails, and the truth is a whole number. */
  widened(box, allowance) {
    if (!(allowance > ROUNDING)) return 0;
    const [noise, kurtosis] = this.unbiased.moments(box);
    const both = noise + allowance;
    const tails = Math.min((kurtosis * noise ** 2 + 3 * allowance ** 2) / both ** 2, 3);
    return halfWidth(both, tails, 0, this.quantiles, this.level, false) + 0.5;
  }
}

/**
 * Half-width of an interval. The table holds quantiles at kurtosis / 3 = (i / last)², to be joined by lines; Markov's
 * inequality, for the second and the fourth moment, bounds them. Noise in whole steps has half-widths in whole steps.
 */
export function halfWidth(variance, kurtosis, step, quantiles, level, whole) {
  if (!(variance > 0)) return 0;
  const last = quantiles.length - 1;
  const third = Math.min(Math.max(kurtosis / 3, 0), 1);
  const place = Math.min(Math.floor(Math.sqrt(third) * last), last - 1);
  const [from, to] = [(place / last) ** 2, ((place + 1) / last) ** 2];
  const share = (third - from) / (to - from);
  const quantile = quantiles[place] + share * (quantiles[place + 1] - quantiles[place]);
  const deviation = Math.sqrt(variance);
  const markov = Math.min(((kurtosis + 3) / (1 - level)) ** 0.25, (1 - level) ** -0.5);
  const width = Math.min(quantile * deviation + (kurtosis > 3 ? step : step / 2), markov * deviation);
  return whole && step ? Math.floor(width / step + 1e-9) * step : width;
}
