/** Whether time grows faster than the number of steps: `T(n) = a + b·n + c·n²`, by least squares. */

export interface Curve {
  /** constant part, ms */
  readonly a: number;
  /** ms per step */
  readonly b: number;
  /** additional ms per step for each previous step */
  readonly c: number;
}

export interface Point {
  readonly steps: number;
  readonly ms: number;
}

/** @param points points with at least three different numbers of steps */
export function fitCurve(points: readonly Point[]): Curve {
  // Scaled to 0–1, for numerical stability with large squares.
  const scale = Math.max(...points.map(({ steps }) => Math.abs(steps)), 1);
  const rows = points.map(({ steps }) => [1, steps / scale, (steps / scale) ** 2] as const);
  const normal = [0, 1, 2].map((row) => [
    ...[0, 1, 2].map((column) => sum(rows.map((terms) => (terms[row] ?? 0) * (terms[column] ?? 0)))),
    sum(rows.map((terms, at) => (terms[row] ?? 0) * (points[at]?.ms ?? 0))),
  ]);
  const [a = Number.NaN, b = Number.NaN, c = Number.NaN] = solve(normal);
  return { a, b: b / scale, c: c / scale ** 2 };
}

export const timeAt = ({ a, b, c }: Curve, steps: number): number => a + b * steps + c * steps ** 2;

/** Share of the quadratic term in the time of this number of steps; near 0 for linear time. */
export const quadraticShare = (curve: Curve, steps: number): number => (curve.c * steps ** 2) / timeAt(curve, steps);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Gaussian elimination with partial pivoting. The last element of each row is the right side. */
function solve(rows: readonly (readonly number[])[]): readonly number[] {
  let remaining = rows;
  const found: { readonly row: readonly number[]; readonly column: number }[] = [];
  for (const column of rows.keys()) {
    const pivot = remaining.reduce((best, row) => (Math.abs(row[column] ?? 0) > Math.abs(best[column] ?? 0) ? row : best));
    const pivotValue = pivot[column] ?? 0;
    if (Math.abs(pivotValue) < 1e-12) throw new RangeError('a curve takes three different numbers of steps');
    found.push({ row: pivot, column });
    remaining = remaining
      .filter((row) => row !== pivot)
      .map((row) => row.map((value, at) => value - ((row[column] ?? 0) / pivotValue) * (pivot[at] ?? 0)));
  }
  const answer: number[] = [];
  for (const { row, column } of found.toReversed()) {
    const known = sum(row.slice(column + 1, -1).map((value, at) => value * (answer[column + 1 + at] ?? 0)));
    answer[column] = ((row.at(-1) ?? 0) - known) / (row[column] ?? 0);
  }
  return answer;
}
