/**
 * Weights that make the evidence come first: of all candidates of a question each turn that holds evidence should be the
 * likeliest, where how likely one is grows with the weighted sum of its features (a multinomial logit). Convex, so that there
 * is one best answer; weights are never below 0 and are pulled towards 0 a little.
 */

export interface Example {
  /** A row a candidate, its features in the order of the weights. */
  readonly rows: readonly Float64Array[];
  /** Indexes of the rows that hold evidence. */
  readonly evidence: readonly number[];
}

/** Of features that vary as much as their deviation. */
const PULL = 1;
const STEPS = 400;

export function fitWeights(examples: readonly Example[], width: number): Float64Array {
  const usable = examples.filter(({ evidence }) => evidence.length > 0);
  const scale = deviations(usable, width);
  const weights = new Float64Array(width);
  // Nesterov's accelerated descent, projected on what is allowed: a dozen numbers need nothing better.
  let ahead = Float64Array.from(weights);
  let momentum = 1;
  const rate = 1.5;
  for (let step = 0; step < STEPS; step += 1) {
    const slope = gradient(usable, ahead, scale);
    const next = ahead.map((value, n) => Math.max(0, value - rate * (slope[n] ?? 0)));
    const grown = (1 + Math.sqrt(1 + 4 * momentum ** 2)) / 2;
    ahead = next.map((value, n) => value + ((momentum - 1) / grown) * (value - (weights[n] ?? 0)));
    weights.set(next);
    momentum = grown;
  }
  return weights.map((value, n) => value / (scale[n] ?? 1));
}

function gradient(examples: readonly Example[], weights: Float64Array, scale: Float64Array): Float64Array {
  const width = weights.length;
  const slope = new Float64Array(width);
  const scaled = weights.map((value, n) => value / (scale[n] ?? 1));
  for (const { rows, evidence } of examples) {
    const sums = Float64Array.from(rows, (row) => dot(row, scaled));
    const highest = sums.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY);
    let total = 0;
    for (let n = 0; n < sums.length; n += 1) {
      sums[n] = Math.exp((sums[n] ?? 0) - highest);
      total += sums[n] ?? 0;
    }
    for (const [n, row] of rows.entries()) {
      const likelihood = (sums[n] ?? 0) / total;
      for (let f = 0; f < width; f += 1) slope[f] = (slope[f] ?? 0) + likelihood * (row[f] ?? 0);
    }
    for (const n of evidence) {
      const row = rows[n];
      for (let f = 0; f < width; f += 1) slope[f] = (slope[f] ?? 0) - (row?.[f] ?? 0) / evidence.length;
    }
  }
  return slope.map(
    (value, n) => value / (scale[n] ?? 1) / examples.length + (2 * PULL * (weights[n] ?? 0)) / examples.length,
  );
}

function dot(row: Float64Array, weights: Float64Array): number {
  let sum = 0;
  for (let n = 0; n < weights.length; n += 1) sum += (row[n] ?? 0) * (weights[n] ?? 0);
  return sum;
}

function deviations(examples: readonly Example[], width: number): Float64Array {
  const sums = new Float64Array(width);
  const squares = new Float64Array(width);
  let count = 0;
  for (const { rows } of examples) {
    for (const row of rows) {
      count += 1;
      for (let f = 0; f < width; f += 1) {
        sums[f] = (sums[f] ?? 0) + (row[f] ?? 0);
        squares[f] = (squares[f] ?? 0) + (row[f] ?? 0) ** 2;
      }
    }
  }
  // A feature that never varies gets no weight worth the name.
  return squares.map((square, f) => Math.sqrt(Math.max(1e-9, square / count - ((sums[f] ?? 0) / count) ** 2)));
}
