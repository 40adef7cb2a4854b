// What does a release answer for a box? Estimate, interval and relative uncertainty, as in the library.

import { GridEstimate } from "./grid.mjs";
import { snapBox } from "./lattice.mjs";
import { TreeEstimate } from "./tree.mjs";

export class Release {
  constructor(data) {
    Object.assign(this, { bounds: data.bounds, quantiles: data.quantiles, level: data.level, biased: data.biased });
    this.estimate = data.kind === "grid" ? new GridEstimate(data.estimate) : new TreeEstimate(data.estimate);
  }

  /** Answer a box (xmin, ymin, xmax, ymax) in the domain's coordinates. */
  ask(box) {
    return this.askLattice(snapBox(box, this.bounds));
  }

  /** Answer a lattice box; the half-width is null for biased releases, which have no intervals. */
  askLattice(box) {
    return this.withInterval(this.estimate.answer(box), this.halfWidth(box));
  }

  withInterval(estimate, half) {
    if (half === null) return { estimate, half, low: null, high: null, relative: null };
    const relative = half === 0 ? 0 : half / Math.abs(estimate);
    return { estimate, half, low: estimate - half, high: estimate + half, relative };
  }

  halfWidth(box) {
    if (this.biased) return null;
    const { estimate } = this;
    return halfWidth(...estimate.moments(box), estimate.step, this.quantiles, this.level, estimate.inSteps(box));
  }
}

/**
 * Half-width of an interval about noise, as estimates/intervals.py: `quantiles` are those at kurtosis / 3 = (i / last)²,
 * to be joined by lines; `whole` says whether the noise is a whole multiple of the step.
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
  const bound = deviation * Math.min(((kurtosis + 3) / (1 - level)) ** 0.25, (1 - level) ** -0.5);
  const width = Math.min(quantile * deviation + (kurtosis > 3 ? step : step / 2), bound);
  return whole ? Math.floor(width / step + 1e-9) * step : width;
}
