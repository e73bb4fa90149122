/** Runs a loop of many items on the memory ports. Its log is outside the heap, like a table. */
import { deserialize, serialize } from 'node:v8';
import { compile } from '../../lib/engine/graph/compile.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { type RunAttempt, Plans } from '../../lib/service/commit/plans.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { createTestEnv, scope } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

export interface LoopResult {
  readonly status: string;
  readonly output: JsonValue | undefined;
}

/** Stores commits as bytes, so that the log keeps no objects alive. Most commits are never read again. */
function withSerializedLog(deps: Deps): Deps {
  const bytes: Uint8Array[] = [];
  let last = 1;
  return {
    ...deps,
    log: overrideMethods(deps.log, {
      put: async (_run, commit) => {
        const stored = bytes[commit.number];
        if (stored !== undefined) return { kind: 'occupied', nonce: commitIn(stored).nonce };
        bytes[commit.number] = serialize(commit);
        last = commit.number;
        return { kind: 'stored' };
      },
      commitsAfter: async (_run, after) =>
        Array.from({ length: Math.max(0, last - after) }, (_, index) => bytes[after + 1 + index]).flatMap((one) =>
          one === undefined ? [] : [commitIn(one)],
        ),
    }),
  };
}
const commitIn = (bytes: Uint8Array): Commit => deserialize(bytes);

/** Each iteration's result is its item. */
const echo: RunAttempt = async (_node, { context }) => ({
  outcome: { kind: 'finished', output: { value: context.get('item') ?? null }, handle: 'output' },
  printed: [],
});

export async function runLoop(items: number, concurrency: number): Promise<LoopResult> {
  const env = createTestEnv({ wrap: withSerializedLog });
  const ids = { loop: nodeId('each'), body: nodeId('one'), end: nodeId('end') };
  await env.publish({
    name: workflowName('many'),
    version: 1,
    nodes: [
      { id: nodeId('start'), type: 'start', config: {} },
      { id: ids.loop, type: 'loop', config: { sourceVariable: '{{ctx.input.items}}', maxIterations: 100_000, concurrency } },
      { id: ids.body, type: 'javascript', config: { code: 'return ctx.item' } },
      { id: ids.end, type: 'end', config: { outputParameters: [{ name: 'all', sourceVariable: '{{ctx.loopResults}}' }] } },
    ],
    edges: [
      { source: nodeId('start'), target: ids.loop },
      { source: ids.loop, target: ids.body, sourceHandle: 'loop' },
      { source: ids.loop, target: ids.end, sourceHandle: 'done' },
    ],
    options: {},
  });
  const plans = new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure });
  const worker: JobHandler = { ...env.worker, plans, runAttempt: echo };
  const input = { items: Array.from({ length: items }, (_, index) => index) };
  const request = { scope, idempotencyKey: 'k', bodyHash: 'h', workflowName: workflowName('many'), input };
  const answer = await startRun(worker, request);
  if (answer.kind !== 'started') throw new Error(answer.kind);
  const { jobs } = env.ports;
  for (;;) {
    const taken = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()];
    for (const job of taken) await env.take(job, { worker });
    const results = [...jobs.takeResults()];
    if (taken.length === 0 && results.length === 0) break;
    while (results.length > 0) {
      const batch = results.splice(0, 10).map((result) => ({ result, isRedelivered: false }));
      await env.collect(byRun(batch), worker);
    }
  }
  const found = await getRun(worker, { ...scope, runId: answer.runId }, true);
  if (found.kind !== 'found') throw new Error('the run is gone');
  const { progress, output } = found.run;
  return { status: progress.status, output: output !== undefined && 'value' in output ? output.value : undefined };
}
