/**
 * Weights that make the evidence come first: of all candidates of a question each turn that holds evidence should be the
 * likeliest, where how likely one is grows with the weighted sum of its features (a multinomial logit), and weights are pulled
 * towards 0 a little. Convex, so that there is one best answer; Newton's method finds it in a few steps.
 */

export interface Example {
  /** A row a candidate, its features in the order of the weights. */
  readonly rows: readonly Float64Array[];
  /** Indexes of the rows that hold evidence. */
  readonly evidence: readonly number[];
}

/** Of features that vary as much as their deviation. */
const PULL = 1;
const STEPS = 30;
const HALVINGS = 20;
const CLOSE = 0.01;
/** Most candidates are; they change nothing. */
const UNLIKELY = 1e-7;

export function fitWeights(examples: readonly Example[], width: number): Float64Array {
  const usable = examples.filter(({ evidence }) => evidence.length > 0);
  const scale = deviations(usable, width);
  const scaled = usable.map(({ rows, evidence }) => ({
    evidence,
    rows: rows.map((row) => row.map((value, f) => value / (scale[f] ?? 1))),
  }));
  let weights = new Float64Array(width);
  let here = gradientOf(scaled, weights);
  for (let step = 0; step < STEPS; step += 1) {
    const move = solve(here.curvature, here.slope);
    let next = gradientOf(scaled, moved(weights, move, 1));
    let share = 1;
    for (let n = 0; n < HALVINGS && next.loss > here.loss; n += 1) {
      share /= 2;
      next = gradientOf(scaled, moved(weights, move, share));
    }
    const gain = here.loss - next.loss;
    weights = moved(weights, move, share);
    here = next;
    if (gain < CLOSE) break;
  }
  return weights.map((value, f) => value / (scale[f] ?? 1));
}

interface Gradient {
  readonly loss: number;
  readonly slope: Float64Array;
  readonly curvature: readonly Float64Array[];
}

function gradientOf(examples: readonly Example[], weights: Float64Array): Gradient {
  const width = weights.length;
  const slope = weights.map((weight) => 2 * PULL * weight);
  const curvature = Array.from(weights, (_, f) => Float64Array.from(weights, (_, g) => (f === g ? 2 * PULL : 0)));
  let loss = PULL * weights.reduce((sum, weight) => sum + weight ** 2, 0);
  for (const { rows, evidence } of examples) {
    const sums = Float64Array.from(rows, (row) => dot(row, weights));
    const highest = sums.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY);
    const likely = sums.map((sum) => Math.exp(sum - highest));
    const total = likely.reduce((sum, one) => sum + one, 0);
    loss += Math.log(total) + highest;
    const mean = new Float64Array(width);
    for (const [n, row] of rows.entries()) {
      const share = (likely[n] ?? 0) / total;
      if (share < UNLIKELY) continue;
      for (let f = 0; f < width; f += 1) {
        const part = share * (row[f] ?? 0);
        mean[f] = (mean[f] ?? 0) + part;
        const line = curvature[f];
        if (line === undefined || part === 0) continue;
        for (let g = 0; g <= f; g += 1) line[g] = (line[g] ?? 0) + part * (row[g] ?? 0);
      }
    }
    for (const [f, line] of curvature.entries()) {
      for (let g = 0; g <= f; g += 1) line[g] = (line[g] ?? 0) - (mean[f] ?? 0) * (mean[g] ?? 0);
      slope[f] = (slope[f] ?? 0) + (mean[f] ?? 0);
    }
    for (const n of evidence) {
      const row = rows[n];
      loss -= (sums[n] ?? 0) / evidence.length;
      for (let f = 0; f < width; f += 1) slope[f] = (slope[f] ?? 0) - (row?.[f] ?? 0) / evidence.length;
    }
  }
  return { loss, slope, curvature };
}

function moved(weights: Float64Array, move: Float64Array, share: number): Float64Array<ArrayBuffer> {
  return Float64Array.from(weights, (weight, f) => weight - share * (move[f] ?? 0));
}

/** Cholesky; of the matrix, which is positive definite, the lower half is read. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const lower = matrix.map((line) => new Float64Array(line.length));
  const at = (f: number, g: number) => lower[f]?.[g] ?? 0;
  for (const [f, line] of lower.entries()) {
    for (let g = 0; g <= f; g += 1) {
      let rest = matrix[f]?.[g] ?? 0;
      for (let k = 0; k < g; k += 1) rest -= at(f, k) * at(g, k);
      line[g] = f === g ? Math.sqrt(rest) : rest / at(g, g);
    }
  }
  const solution = Float64Array.from(right);
  for (let f = 0; f < solution.length; f += 1) {
    let rest = solution[f] ?? 0;
    for (let k = 0; k < f; k += 1) rest -= at(f, k) * (solution[k] ?? 0);
    solution[f] = rest / at(f, f);
  }
  for (let f = solution.length - 1; f >= 0; f -= 1) {
    let rest = solution[f] ?? 0;
    for (let k = f + 1; k < solution.length; k += 1) rest -= at(k, f) * (solution[k] ?? 0);
    solution[f] = rest / at(f, f);
  }
  return solution;
}

function dot(row: Float64Array, weights: Float64Array): number {
  let sum = 0;
  for (let f = 0; f < weights.length; f += 1) sum += (row[f] ?? 0) * (weights[f] ?? 0);
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
