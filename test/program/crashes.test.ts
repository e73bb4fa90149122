/**
 * Random programs with random crashes before and after commits, and concurrent commits: the result is the same, recorded steps do
 * not run again, and no replay is nondeterministic.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationMs } from '../../lib/engine/time.ts';
import { replayVersion } from '../../lib/engine/durable/command-batch.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import { DrivenRun } from './driven-run.ts';
import { type Part, programs, workflowOf } from './random-program.ts';
import { VirtualClock } from './virtual-clock.ts';

const children = { child: (input: JsonValue) => ({ status: 'completed' as const, output: { of: input } }) };

interface World {
  /** the fate of batch n, and whether another writer commits before it; later batches are committed */
  readonly fates: readonly {
    readonly fate: 'commit' | 'die-before' | 'die-after';
    readonly isDisturbed: boolean;
    readonly commitMs: number;
  }[];
  /** another writer commits at this time after the start */
  readonly visits: readonly number[];
  readonly tellsAtOnce: boolean;
  readonly driveMs: number;
}

const worlds: fc.Arbitrary<World> = fc.record({
  fates: fc.array(
    fc.record({
      fate: fc.constantFrom('commit' as const, 'commit' as const, 'die-before' as const, 'die-after' as const),
      isDisturbed: fc.boolean(),
      commitMs: fc.constantFrom(0, 0, 1, 7, 30),
    }),
    { maxLength: 30 },
  ),
  visits: fc.array(fc.constantFrom(1, 3, 6, 15, 25, 100, 305, 1_000), { maxLength: 6 }),
  tellsAtOnce: fc.boolean(),
  driveMs: fc.constantFrom(3_600_000, 3_600_000, 20, 350),
});

const calm: World = { fates: [], visits: [], tellsAtOnce: false, driveMs: 3_600_000 };

async function played(part: Part, world: World): Promise<DrivenRun> {
  const clock = new VirtualClock();
  const run: DrivenRun = new DrivenRun([], { children, driveMs: world.driveMs }, clock);
  run.workflows = [
    workflowOf(part, clock, ({ key }) => {
      // A crashed worker continues here for a while. Only calls of live workers count.
      if (run.node(key)?.status === 'completed' && run.isDriving) throw new Error(`${key} is done again`);
    }),
  ];
  run.tellsAtOnce = world.tellsAtOnce;
  const disturb = (): void => {
    if (run.hasEnded) return;
    run.say({ kind: 'wake-requested' });
    run.signal('go', 'now');
  };
  let turn = 0;
  run.beforeTurn = async () => {
    const { fate, isDisturbed, commitMs } = world.fates[turn] ?? { fate: 'commit', isDisturbed: false, commitMs: 0 };
    turn += 1;
    if (commitMs > 0) await clock.sleep(durationMs(commitMs));
    if (isDisturbed) disturb();
    return fate;
  };
  for (const visit of world.visits) clock.later(durationMs(visit), disturb);
  while (!run.hasEnded) {
    await run.toTheEnd();
    if (!run.hasEnded) expect(run.signal('go', 'now')).toBe(true);
  }
  expect(run.ends.filter(({ kind }) => kind !== 'finished')).toEqual([]);
  return run;
}

/** Replays the whole log on a new worker. */
async function replayed(part: Part, run: DrivenRun): Promise<JsonValue> {
  const clock = new VirtualClock();
  const never = workflowOf(part, clock, ({ key }) => {
    throw new Error(`${key} is done again`);
  });
  const { promise, resolve } = Promise.withResolvers<JsonValue>();
  const { facts, history } = run;
  const task = { run: facts, replayVersion, input: null, history, handOffAt: facts.deadlineAt };
  const drive = startWorkflowTask(
    [never],
    task,
    {
      commitBatch: async ({ entries }) => {
        for (const entry of entries) if (entry.kind === 'returned') resolve(entry.output);
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'dep-2', clock },
  );
  const ended = drive.ended.then((end) => `it ended as ${JSON.stringify(end)}`);
  return clock.until(Promise.race([promise, ended]));
}

const numRuns = Number(process.env['CRASH_RUNS'] ?? 150);

/** Of several sends with one name, timing decides which gets the plain key and which a numbered one. */
const untimed = (output: unknown): string => String(output).replaceAll(/sent out:\d+/g, 'sent out');

const sends: [Part, World][] = [
  [
    {
      kind: 'allSettled',
      parts: [
        { kind: 'seq', parts: [{ kind: 'signal' }, { kind: 'send' }] },
        {
          kind: 'seq',
          parts: [{ kind: 'step', ms: 0, ticks: 0, failures: 0, isFatal: true, idempotent: false }, { kind: 'send' }],
        },
      ],
    },
    { fates: [], visits: [1], tellsAtOnce: false, driveMs: 3_600_000 },
  ],
];

test('crashes and concurrent commits change no result that does not depend on time', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(programs(['seq', 'all', 'allSettled']), worlds, async (part, world) => {
      const quiet = await played(part, calm);
      const run = await played(part, world);
      expect(untimed(run.output)).toBe(untimed(quiet.output));
      expect(await replayed(part, run)).toBe(run.output);
    }),
    { numRuns, examples: sends },
  );
});

const work = (ms: number): Part => ({ kind: 'step', ms, failures: 0, isFatal: false, idempotent: false, ticks: 0 });

/** Regression: the code got a later result before an earlier one of the log. */
const examples: [Part, World][] = [
  [
    {
      kind: 'any',
      parts: [
        { kind: 'seq', parts: [work(0), work(0), { kind: 'signal' }] },
        work(300),
        { kind: 'seq', parts: [{ kind: 'sleep', ms: 0 }] },
      ],
    },
    { fates: [{ fate: 'commit', isDisturbed: false, commitMs: 30 }], visits: [305], tellsAtOnce: true, driveMs: 20 },
  ],
  [
    {
      kind: 'race',
      parts: [
        {
          kind: 'seq',
          parts: [
            { kind: 'seq', parts: [work(20), { kind: 'send' }] },
            { kind: 'sleep', ms: 0 },
          ],
        },
        { kind: 'allSettled', parts: [work(300), { kind: 'sleep', ms: 0 }] },
        work(300),
      ],
    },
    {
      fates: [
        { fate: 'commit', isDisturbed: false, commitMs: 0 },
        { fate: 'commit', isDisturbed: true, commitMs: 0 },
      ],
      visits: [],
      tellsAtOnce: false,
      driveMs: 20,
    },
  ],
];

test('a replay keeps the order of results', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(programs(['seq', 'all', 'allSettled', 'race', 'any']), worlds, async (part, world) => {
      const run = await played(part, world);
      expect(await replayed(part, run)).toBe(run.output);
    }),
    { numRuns, examples },
  );
});
