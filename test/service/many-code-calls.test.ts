/** A run of code that calls a thousand runs at once, in virtual time: its ends are collected beside its workflow tasks. */
import { expect, test } from 'vitest';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { inTier } from '../tier.ts';
import { codeManifest, deploy } from './code-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { ScriptedPrograms } from './scripted-programs.ts';
import { type TestEnv, createTestEnv, finished, workflow } from './test-env.ts';

/** Maximum size of an SQS batch. */
const mostTogether = 10;
/** Delivery time of a message, duration of a put and of a read: about the values of AWS. And a replay of a thousand results. */
const [hop, put, read, replay] = [durationMs(25), durationMs(6), durationMs(5), durationMs(60)];

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Counts the puts of the calling run, by their writers. Every call of a log takes its time. */
function counting() {
  const counted = { stored: 0, lost: new Map<string, number>(), caller: '' };
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      commitsAfter: async (run, after, most) => {
        if (run.runId === counted.caller) await deps.clock.sleep(read);
        return deps.log.commitsAfter(run, after, most);
      },
      put: async (run, commit, expires) => {
        if (run.runId !== counted.caller) return deps.log.put(run, commit, expires);
        await deps.clock.sleep(put);
        const result = await deps.log.put(run, commit, expires);
        if (result.kind === 'stored') counted.stored += 1;
        else {
          const by = commit.events.some(({ type }) => type === 'NODE_COMPLETED' || type === 'NODE_DISPATCHED')
            ? commit.by
            : 'other';
          counted.lost.set(by, (counted.lost.get(by) ?? 0) + 1);
        }
        return result;
      },
    }),
  });
  return { counted, wrap };
}

/** The code takes time until its command batch. */
const slowPrograms = (calls: number, env: () => TestEnv): Programs => {
  const stage = Array.from({ length: calls }, (_, at) => ({
    kind: 'workflow' as const,
    key: `k${at}`,
    workflowName: 'child',
    input: {},
  }));
  const scripted = new ScriptedPrograms(() => env().ports.clock, [stage]);
  return {
    start: (scope, manifest, task, host) =>
      scripted.start(scope, manifest, task, {
        ...host,
        commitBatch: async (batch) => {
          await env().ports.clock.sleep(replay);
          return host.commitBatch(batch);
        },
      }),
  };
};

/** Every job has a worker at once. All results of the caller are one message group, and its workflow tasks are another one. */
async function play(env: TestEnv): Promise<void> {
  const { clock, jobs } = env.ports;
  const foldCache = new FoldCache();
  const atWork = new Set<Promise<void>>();
  const begin = (work: Promise<void>): void => {
    const ended = work.finally(() => void atWork.delete(ended));
    atWork.add(ended);
  };
  const after = async (job: Job): Promise<void> => {
    await clock.sleep(hop);
    await env.take(job);
  };
  const tasks: Job[] = [];
  let [isCollecting, isReplaying] = [false, false];
  const collect = async (): Promise<void> => {
    isCollecting = true;
    await clock.sleep(hop);
    const batch = jobs.results.splice(0, mostTogether).map((result) => ({ result, isRedelivered: false }));
    for (const each of byRun(batch)) await collectResults({ ...env.worker, by: 'collect', foldCache }, each);
    isCollecting = false;
  };
  const replayNext = async (job: Job): Promise<void> => {
    isReplaying = true;
    await clock.sleep(hop);
    await env.take(job, { worker: { ...env.worker, by: 'code' } });
    isReplaying = false;
  };
  do {
    for (let turns = 0; turns < 12; turns += 1) await turn();
    for (const job of [...jobs.takeSent(), ...jobs.takeDue().filter(({ kind }) => kind !== 'recheck')]) begin(after(job));
    tasks.push(...jobs.takeMessages());
    if (!isReplaying) {
      const next = tasks.shift();
      if (next !== undefined) begin(replayNext(next));
    }
    if (!isCollecting && jobs.results.length > 0) begin(collect());
    const next = clock.nextWakeAt();
    if (next !== undefined) clock.set(next);
  } while (atWork.size > 0);
}

/** Evenly distributed over the span, in no order. */
const durationOf = (call: number, calls: number, span: DurationMs): DurationMs =>
  durationMs(50 + Math.floor((((call * 617) % calls) * span) / calls));

test.each<readonly [calls: number, span: number]>(
  inTier({
    quick: [[200, 4]],
    deep: [
      [1_000, 1],
      [1_000, 20],
      [1_000, 25],
    ],
  }),
)('%i calls of code that end within %i s lose at most ten puts', async (calls, span) => {
  const { counted, wrap } = counting();
  let begun = 0;
  const env: TestEnv = createTestEnv({
    wrap,
    programs: slowPrograms(calls, () => env),
    answer: async (node) => {
      await env.ports.clock.sleep(durationOf((begun += 1), calls, seconds(span)));
      return finished(node);
    },
  });
  await env.publish(workflow('child', 'x>e'));
  await deploy(env, codeManifest('v1'));
  const run = await env.begin('order');
  counted.caller = run.runId;
  await play(env);
  const lost = [...counted.lost.values()].reduce((sum, each) => sum + each, 0);
  expect([begun, (await env.fold(run)).state.progress.status]).toEqual([calls, 'completed']);
  expect(lost).toBeLessThanOrEqual(10);
});
