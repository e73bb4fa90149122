/** A join of a thousand branches that end at different times, in virtual time, with results delivered like by a FIFO queue. */
import { describe, expect, test } from 'vitest';
import { nodeKey } from '../../lib/engine/ids.ts';
import { type DurationMs, between, durationMs, seconds } from '../../lib/engine/time.ts';
import { type RunResults, byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, finished, createTestEnv, workflow } from './test-env.ts';
import { inTier } from '../tier.ts';
import { overrideMethods } from './override-methods.ts';

const branches = 1_000;
/** Maximum size of an SQS batch. */
const mostTogether = 10;
/** Delivery time of a result, and duration of a put: about the values of AWS. */
const [hop, put] = [durationMs(20), durationMs(8)];

const turn = () => new Promise((resolve) => setImmediate(resolve));
const fan = (width: number): string => Array.from({ length: width }, (_, index) => `a>b${index} b${index}>d`).join(' ');
const patient = Object.fromEntries(
  Array.from({ length: branches }, (_, index) => [`b${index}`, { policy: { timeoutMs: 840_000 } }]),
);

/** Counts the puts of commits, each with its duration. */
const counting = () => {
  const counted = { stored: 0, lost: 0 };
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      put: async (run, commit, expires) => {
        await deps.clock.sleep(put);
        const result = await deps.log.put(run, commit, expires);
        counted[result.kind === 'stored' ? 'stored' : 'lost'] += 1;
        return result;
      },
    }),
  });
  return { counted, wrap };
};

/** Every job has a worker at once. All results of a run are one message group, so one collector receives them at a time. */
async function play(env: TestEnv, runAttempt: RunAttempt): Promise<void> {
  const { clock, jobs } = env.ports;
  const foldCache = new FoldCache();
  const atWork = new Set<Promise<void>>();
  const begin = (work: Promise<void>): void => {
    const ended = work.finally(() => void atWork.delete(ended));
    atWork.add(ended);
  };
  let isLocked = false;
  const collect = async (): Promise<void> => {
    isLocked = true;
    const batch = jobs.results.splice(0, mostTogether).map((result) => ({ result, isRedelivered: false }));
    await clock.sleep(hop);
    for (const each of byRun(batch)) await collectResults({ ...env.worker, foldCache }, each);
    isLocked = false;
  };
  do {
    for (let turns = 0; turns < 6; turns += 1) await turn();
    for (const job of jobs.takeSent())
      begin(env.take(job, { worker: { ...env.worker, runAttempt, foldCache: new FoldCache() } }));
    if (!isLocked && jobs.results.length > 0) begin(collect());
    const next = clock.nextWakeAt();
    if (next !== undefined) clock.set(next);
  } while (atWork.size > 0);
}

/** Evenly distributed over the span, in no order. */
const durationOf = (branch: number, span: DurationMs): DurationMs =>
  durationMs(50 + Math.floor((((branch * 617) % branches) * span) / branches));

test.each(inTier({ quick: [], deep: [1, 20, 250] }))(
  'a thousand branches that end within %i s take at most 220 commits, and lose at most ten puts',
  async (span) => {
    const { counted, wrap } = counting();
    const env = createTestEnv({ wrap });
    await env.publish(workflow('flow', fan(branches), patient));
    const run = await env.begin('flow');
    let ended = 0;
    await play(env, async ({ id }) => {
      if (id.startsWith('b')) {
        await env.ports.clock.sleep(durationOf(Number(id.slice(1)), seconds(span)));
        ended += 1;
      }
      return { outcome: finished(id), printed: [] };
    });
    expect([ended, (await env.fold(run)).state.progress.status]).toEqual([branches, 'completed']);
    expect(counted.stored).toBeLessThanOrEqual(220);
    expect(counted.lost).toBeLessThanOrEqual(10);
  },
);

test.each([
  [10, 20, 30],
  [10, 20, 60],
  [20, 20, 60],
])(
  'a loop with concurrency %i and iterations of %i to %i ms takes at most a fifth of a commit per iteration',
  async (concurrency, least, most) => {
    const items = 400;
    const { counted, wrap } = counting();
    const env = createTestEnv({ wrap });
    await env.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items, concurrency } }));
    const run = await env.begin('flow');
    let begun = 0;
    await play(env, async ({ id }) => {
      if (id === 'b') {
        begun += 1;
        await env.ports.clock.sleep(durationMs(least + ((begun * 617) % (most - least + 1))));
      }
      return { outcome: finished(id), printed: [] };
    });
    expect([begun, (await env.fold(run)).state.progress.status]).toEqual([items, 'completed']);
    expect(counted.stored / items).toBeLessThanOrEqual(0.2);
  },
);

describe('one of a hundred results', () => {
  /** The collector's wait after its commit, for a branch with this duration. */
  const lingers = async (took: DurationMs, change: (results: RunResults) => RunResults = (results) => results) => {
    const env = createTestEnv();
    const { clock, jobs } = env.ports;
    await env.publish(workflow('flow', fan(100)));
    const run = await env.begin('flow');
    for (const job of jobs.takeSent()) await env.take(job);
    const [first] = jobs.takeSent();
    if (first?.kind !== 'node') throw new Error('no branch was asked for');
    clock.advance(took);
    await env.take(first);
    const collecting = byRun(jobs.takeResults().map((result) => ({ result, isRedelivered: false }))).map((each) =>
      collectResults({ ...env.worker, foldCache: new FoldCache() }, change(each)),
    );
    for (let turns = 0; turns < 6; turns += 1) await turn();
    expect((await env.fold(run)).state.nodes.get(nodeKey(first))?.status).toBe('completed');
    const wait = between(clock.now(), clock.nextWakeAt() ?? clock.now());
    clock.advance(wait);
    await Promise.all(collecting);
    return wait;
  };

  test.each([
    ['whose branch was quick, 50 ms', 100, 50],
    ['whose branch took ten seconds, a twentieth of them', 10_000, 500],
    ['whose branch took minutes, two seconds', 600_000, 2_000],
  ])('lets others accumulate, %s', async (_told, took, wait) => {
    expect(await lingers(durationMs(took))).toBe(wait);
  });

  test('lets others accumulate for at most 50 ms if the batch contains another run’s results', async () => {
    expect(await lingers(seconds(600), (results) => ({ ...results, isMixed: true }))).toBe(50);
  });
});

test('a batch with results of several runs is mixed', async () => {
  const env = createTestEnv();
  for (const name of ['one', 'two']) {
    await env.publish(workflow(name, fan(10)));
    await env.begin(name);
  }
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  const received = env.ports.jobs.takeResults().map((result) => ({ result, isRedelivered: false }));
  expect(byRun(received).map(({ isMixed }) => isMixed)).toEqual([true, true]);
  expect(byRun(received.slice(0, 10)).map(({ isMixed }) => isMixed)).toEqual([false]);
});
