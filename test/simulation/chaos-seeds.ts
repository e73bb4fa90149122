/** Runs many seeds with all faults and checks their combined counts. */
import { describe, expect, test } from 'vitest';
import { type FaultKind, noFaults } from './faults.ts';
import { type SeedRow, isInShare, parts, slicesOf } from './search-parts.ts';
import { RequestThread } from './request-thread.ts';
import { type Tally, emptyTally, merge, tallySchema } from './tally.ts';
import { plainSeeds } from './options-of-seed.ts';

/** Kinds that need an occasion, and how often they strike at least, of each seed: a dead letter, several messages at once, a timer, a client that was answered. */
const leastOf: Partial<Record<string, number>> = {
  redriven: 0.03,
  partlySent: 0.03,
  stale: 0.03,
  stood: 0.03,
  partlyFailed: 0.003,
  keyReused: 0.2,
  cancelled: 0.3,
  doubleTimer: 0.03,
  lateTimer: 0.03,
  earlyTimer: 0.03,
  keyless: 0.2,
  askedAgain: 0.2,
} satisfies Partial<Record<FaultKind, number>>;

const seedsInPart = plainSeeds / parts;

/** The counts are those of the whole part: a slice has too few seeds for the counts of rare faults. */
export function testPartOfSeeds(part: number): void {
  describe.runIf(isInShare(part))(`the invariants hold with all faults: part ${part} of ${parts}`, () => {
    const whole = emptyTally();
    const from = 1 + (part - 1) * seedsInPart;
    test.each(slicesOf({ from, count: seedsInPart }, 250))('$count seeds from $from', async (slice) => {
      const tally = await runUnderChaos(slice);
      expect(tally.failed).toEqual([]);
      merge(whole, tally);
    });
    test('meet each fault and each occasion', () => checkCounts(whole, seedsInPart));
  });
}

/** @throws violations by their seeds, each with its invariant and the line that replays it */
export async function checkSeedsUnderChaos(row: SeedRow): Promise<void> {
  const tally = await runUnderChaos(row);
  expect(tally.failed).toEqual([]);
  checkCounts(tally, row.count);
}

async function runUnderChaos({ from, count }: SeedRow): Promise<Tally> {
  await using thread = new RequestThread(new URL('./seeds-thread.ts', import.meta.url), tallySchema);
  // Awaited here, because the thread ends with this scope.
  return await thread.request({ from, count, world: 'drawn' });
}

/** A part that meets nothing shows nothing: what is counted is what the checker had to look at. */
function checkCounts({ seeds, faults, seen }: Tally, count: number): void {
  expect(seeds).toBe(count);
  for (const kind of Object.keys(noFaults))
    expect(faults[kind] ?? 0, `${kind} was hardly ever injected`).toBeGreaterThan(count * (leastOf[kind] ?? 0.5));
  for (const name of counted) expect(seen[name] ?? 0, `hardly any ${name}`).toBeGreaterThan(count * least[name]);
}

const counted = [
  'woken',
  'resumptions',
  'partialBatches',
  'eventsRead',
  'signalsGiven',
  'waitsUnmet',
  'rolledBack',
  'foretold',
  'answered',
  'outOfTime',
  'pastDeadline',
  'inPasses',
] as const;

/** of each seed, on the average */
const least = {
  // Of three runs; of four it was 0.1.
  woken: 0.08,
  resumptions: 0.1,
  partialBatches: 0.001,
  eventsRead: 25,
  signalsGiven: 0.5,
  waitsUnmet: 0.25,
  rolledBack: 0.02,
  foretold: 0.2,
  answered: 3,
  outOfTime: 0.3,
  pastDeadline: 0.02,
  inPasses: 0.5,
} as const satisfies Record<(typeof counted)[number], number>;
