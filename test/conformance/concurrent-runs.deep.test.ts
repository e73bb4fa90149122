/** Many concurrent runs on several workers without shared memory: each join runs once, and every run ends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Scope, type RunAddress, environment, projectId, workflowName } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { listEvents } from '../../lib/service/runs/list-events.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { createWorkflow } from '../../lib/service/definitions/publish-workflow.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type AwsEnvs, startAwsEnvs } from './aws-envs.ts';
import { type ConformanceEnv, createMemoryEnv } from './conformance-env.ts';
import { depsOf, graphTypes } from './run-topology.ts';
import { type Topology, definitionOf, finishedWith } from './topology.ts';
import type { Worker } from '../../lib/service/worker.ts';

const scope: Scope = { projectId: projectId('default'), environment: environment('crowd') };
const workers = 8;

interface Crowd {
  readonly statuses: readonly string[];
  /** by run: how often each node was dispatched and ended, as `dispatched/ended` by node */
  readonly counts: readonly ReadonlyMap<string, string>[];
  /** puts that lost to another worker */
  readonly lost: number;
}

/** Each job is delivered, and one in three twice at the same time: the queue guarantees no more. */
async function playCrowd(topology: Topology, runs: number, place: ConformanceEnv): Promise<Crowd> {
  const plain = depsOf(place);
  let lost = 0;
  const put: Deps['log']['put'] = async (...given) => {
    const result = await plain.log.put(...given);
    if (result.kind === 'occupied') lost += 1;
    return result;
  };
  const deps: Deps = { ...plain, log: overrideMethods(plain.log, { put }) };
  const newWorker = (): Worker => ({
    deps,
    plans: new Plans(graphTypes),
    kinds: runKinds,
    by: 'crowd',
    foldCache: new FoldCache(),
    runAttempt: async (node) => ({ outcome: finishedWith(node.id), printed: [] }),
  });
  const published = await createWorkflow(deps, scope, definitionOf(topology), inspectNode);
  expect(published.kind).toBe('published');
  const starter = newWorker();
  const started = await Promise.all(
    Array.from({ length: runs }, async (_, index): Promise<RunAddress> => {
      const key = `run-${index}`;
      const request = { scope, idempotencyKey: key, bodyHash: key, workflowName: workflowName(topology.name), input: {} };
      const answer = await startRun(starter, request);
      if (answer.kind !== 'started') throw new Error(answer.kind);
      return { ...scope, runId: answer.runId };
    }),
  );
  for (let jobs = await place.takeJobs(); jobs.length > 0; jobs = await place.takeJobs()) {
    const queue = jobs.flatMap((job, index) => (index % 3 === 0 ? [job, job] : [job]));
    const work = async (): Promise<void> => {
      for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
        if (job.kind !== 'node') throw new Error(job.kind);
        await runNode(newWorker(), job, { isRedelivered: false, mustEndAt: after(deps.clock.now(), minutes(15)) });
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
  }
  const logs = await Promise.all(started.map((run) => listEvents(deps, run, { after: 0, limit: 1_000 })));
  const heads = await Promise.all(started.map((run) => deps.log.head(run)));
  return {
    statuses: heads.map((head) => head?.projection.status ?? 'gone'),
    counts: logs.map((log) => countsOf(log)),
    lost,
  };
}

const countsOf = (log: Awaited<ReturnType<typeof listEvents>>): ReadonlyMap<string, string> => {
  if (log.kind !== 'found') throw new Error('a run was not found');
  const count = (type: string, node: string): number =>
    log.events.filter((event) => event.type === type && event.payload['nodeId'] === node).length;
  const nodes = log.events.flatMap(({ type, payload: { nodeId } }) =>
    type === 'node.queued' && typeof nodeId === 'string' ? [nodeId] : [],
  );
  return new Map(nodes.map((node) => [node, `${count('node.queued', node)}/${count('node.completed', node)}`]));
};

const unjudged = { description: '', verify: () => undefined };

const linear: Topology = { ...unjudged, name: 'linear', edges: ['start -> a -> b -> c -> end'] };
/** Both branches are in the queue, so that two workers reach the join at the same time. */
const edges = ['start -> a -> join -> end', 'start -> b -> join'];
const diamondAnd: Topology = { ...unjudged, name: 'diamond-and', edges };
const diamondOr: Topology = { ...unjudged, name: 'diamond-or', edges, nodes: { join: { joinMode: 'any' } } };

const crowds = [
  [100, 'linear', linear],
  [50, 'diamond AND', diamondAnd],
  [50, 'diamond OR', diamondOr],
] as const;

const expectWhole = ({ statuses, counts }: Crowd, runs: number, { name }: Topology): void => {
  expect(statuses).toEqual(Array.from({ length: runs }, () => 'completed'));
  const nodes = name === 'linear' ? ['a', 'b', 'c'] : ['a', 'b', 'join'];
  const once = new Map(nodes.map((node) => [node, '1/1']));
  for (const count of counts) expect(count).toEqual(once);
};

test.each(crowds)('%i concurrent runs of %s in memory execute no node twice and all end', async (runs, _shape, topology) => {
  const crowd = await playCrowd(topology, runs, await createMemoryEnv());
  expectWhole(crowd, runs, topology);
  expect(crowd.lost, 'two workers never met').toBeGreaterThan(0);
});

describe('on the adapters of AWS', () => {
  let environments: AwsEnvs;
  beforeAll(async () => {
    environments = await startAwsEnvs();
  });
  afterAll(() => environments.close());

  test.each(crowds)('%i concurrent runs of %s execute no node twice and all end', async (runs, _shape, topology) => {
    expectWhole(await playCrowd(topology, runs, await environments.open()), runs, topology);
  });
});
