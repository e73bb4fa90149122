/** The summed results of many seeds. */
import * as z from 'zod';
import { type SimulationReport } from './simulation.ts';
import type { SimulationKind } from './options-of-seed.ts';

const amounts = z.record(z.string(), z.number());

/** Sums over seeds; `faults` by kind. */
export const tallySchema = z.strictObject({
  seeds: z.number(),
  faults: amounts,
  /** port calls, commits and other counts of the checker */
  seen: amounts,
  /** the maximum over all seeds */
  maxOverlapMs: z.number(),
  failed: z.array(z.strictObject({ seed: z.number(), message: z.string() })),
});

export type Tally = z.infer<typeof tallySchema>;

export const emptyTally = (): Tally => ({ seeds: 0, faults: {}, seen: {}, maxOverlapMs: 0, failed: [] });

export function addReport(
  tally: Tally,
  {
    counts,
    maxOverlapMs,
    maxStallMs: _still,
    maxBehindMs: _behind,
    summary: _summary,
    history: _history,
    together: _together,
    ...seen
  }: SimulationReport,
): void {
  tally.seeds += 1;
  addAll(tally.faults, counts);
  addAll(tally.seen, seen);
  tally.maxOverlapMs = Math.max(tally.maxOverlapMs, maxOverlapMs);
}

/** The message ends with the command that replays the seed. */
export function addFailure(
  tally: Tally,
  { seed, world }: { readonly seed: number; readonly world: SimulationKind },
  thrown: unknown,
): void {
  tally.seeds += 1;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const replay = `npm run simulate -- --seed ${seed}${world === 'drawn' ? '' : ` --${world}`}`;
  tally.failed.push({ seed, message: `${message}\n  replay: ${replay}` });
}

export function merge(into: Tally, other: Tally): void {
  into.seeds += other.seeds;
  addAll(into.faults, other.faults);
  addAll(into.seen, other.seen);
  into.maxOverlapMs = Math.max(into.maxOverlapMs, other.maxOverlapMs);
  into.failed.push(...other.failed);
}

function addAll(sums: Record<string, number>, others: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(others)) sums[name] = (sums[name] ?? 0) + value;
}
