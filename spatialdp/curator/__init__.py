"""Questions to a trusted curator, who pays for every answer from an account: counts, sums, means, quantiles, parts."""
