/** The curve of docs/BENCH.md: whether a step costs more with the number of steps before it. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Curve, type Point, quadraticShare, fitCurve, timeAt } from '../../bench/peers/fit.ts';

const finite = (least: number, most: number) => fc.double({ min: least, max: most, noNaN: true });
const curves = fc.record({ a: finite(-1_000, 1_000), b: finite(0, 50), c: finite(-0.001, 0.01) });
const lengths = fc.uniqueArray(fc.integer({ min: 0, max: 25_000 }), { minLength: 3, maxLength: 60 });
const pointsOn = (curve: Curve, steps: readonly number[]): readonly Point[] =>
  steps.map((length) => ({ steps: length, ms: timeAt(curve, length) }));
const squaredError = (curve: Curve, points: readonly Point[]): number =>
  points.reduce((sum, { steps, ms }) => sum + (ms - timeAt(curve, steps)) ** 2, 0);

test('points of a curve give that curve', () => {
  fc.assert(
    fc.property(curves, fc.integer({ min: 10, max: 25_000 }), fc.integer({ min: 3, max: 200 }), (curve, longest, count) => {
      const points = pointsOn(
        curve,
        Array.from({ length: count }, (_one, at) => (longest * at) / (count - 1)),
      );
      const fitted = fitCurve(points);
      for (const { steps, ms } of points) expect(timeAt(fitted, steps)).toBeCloseTo(ms, 3);
      expect(fitted.c * longest ** 2).toBeCloseTo(curve.c * longest ** 2, 2);
    }),
  );
});

test('no other curve is nearer to the points', () => {
  const noise = fc.array(finite(-100, 100), { minLength: 60, maxLength: 60 });
  const away = fc.constantFrom<Curve>({ a: 1, b: 0, c: 0 }, { a: 0, b: 1e-3, c: 0 }, { a: 0, b: 0, c: 1e-7 });
  fc.assert(
    fc.property(curves, noise, away, fc.constantFrom(1, -1), (curve, noises, { a, b, c }, sign) => {
      const points = noises.map((extra, at) => ({ steps: at * 400, ms: timeAt(curve, at * 400) + extra }));
      const best = fitCurve(points);
      const other = { a: best.a + sign * a, b: best.b + sign * b, c: best.c + sign * c };
      expect(squaredError(best, points)).toBeLessThanOrEqual(squaredError(other, points));
    }),
  );
});

test('the order of the points has no effect', () => {
  fc.assert(
    fc.property(curves, lengths, (curve, steps) => {
      fc.pre(Math.max(...steps) - Math.min(...steps) > steps.length * 100);
      const points = pointsOn(curve, steps);
      const [one, other] = [fitCurve(points), fitCurve(points.toReversed())];
      for (const length of steps) expect(timeAt(other, length)).toBeCloseTo(timeAt(one, length), 1);
    }),
  );
});

test('points at two lengths are not enough for a curve', () => {
  const points = [1, 2, 2, 1].map((steps) => ({ steps, ms: steps }));
  expect(() => fitCurve(points)).toThrow(RangeError);
});

test('a linear curve has no quadratic share, and a quadratic one has no other', () => {
  expect(quadraticShare({ a: 5, b: 2, c: 0 }, 1_000)).toBe(0);
  expect(quadraticShare({ a: 0, b: 0, c: 0.5 }, 1_000)).toBe(1);
});
