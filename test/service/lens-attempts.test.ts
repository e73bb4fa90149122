/** A lens node in a run: an output that violates its contract is retried as another attempt, and the log contains the reason. */
import { expect, test } from 'vitest';
import { compile } from '../../lib/engine/graph/compile.ts';
import { lensName, nodeId, workflowName } from '../../lib/engine/ids.ts';
import { after, durationMs, minutes } from '../../lib/engine/time.ts';
import { noModeration } from '../../lib/models/moderation.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { Models } from '../../lib/ports/models.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { createTestEnv, scope } from './test-env.ts';
import type { Worker } from '../../lib/service/worker.ts';

const start = async (retry: object) => {
  const env = createTestEnv();
  const { ports } = env;
  const now = ports.clock.now();
  const lens = { name: lensName('score'), version: 1, kind: 'text', template: 'Score [[what]]' } as const;
  await ports.lenses.putVersion(scope, { ...lens, output: { fields: { score: { type: 'integer', required: true } } } }, now);
  await ports.lenses.advance(scope, { name: lens.name, version: 1 }, now);
  await env.publish({
    name: workflowName('scoring'),
    version: 1,
    nodes: [
      { id: nodeId('start'), type: 'start', config: {} },
      { id: nodeId('score'), type: 'lens', config: { lens: 'score', retry: JSON.parse(JSON.stringify(retry)) } },
    ],
    edges: [{ source: nodeId('start'), target: nodeId('score') }],
    options: {},
  });
  const tokens: string[] = [];
  const models: Models = {
    attachmentError: async () => undefined,
    execute: async (_request, { idempotencyToken }) => {
      tokens.push(idempotencyToken);
      const text = tokens.length === 1 ? 'seven' : '{"score":7}';
      return { kind: 'completed', mediaType: 'text', text, durationMs: durationMs(5) };
    },
  };
  const clock = {
    now: () => ports.clock.now(),
    sleep: async (wait: Parameters<typeof ports.clock.sleep>[0], signal?: AbortSignal) =>
      signal === undefined ? ports.clock.advance(wait) : ports.clock.sleep(wait, signal),
  };
  const worker: Worker = {
    ...env.worker,
    deps: { ...env.deps, clock },
    plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
    runAttempt: createAttemptRunner(createRunners({ lens: { lenses: ports.lenses, models, moderation: noModeration } })),
  };
  const request = { scope, idempotencyKey: 'k', bodyHash: 'h', workflowName: workflowName('scoring'), input: { what: 'this' } };
  const answer = await startRun(worker, request);
  if (answer.kind !== 'started') throw new Error(answer.kind);
  const run = { ...scope, runId: answer.runId };
  for (const job of ports.jobs.takeSent()) {
    if (job.kind !== 'node') continue;
    await runNode(worker, job, { isRedelivered: false, mustEndAt: after(ports.clock.now(), minutes(15)) });
  }
  const fold = await env.fold(run);
  const later = await ports.log.commitsAfter(run, fold.head.commit.number);
  return { tokens, run, fold, events: later.flatMap(({ events }) => events) };
};

test('a contract violation is retried if the author enables it, with a new token', async () => {
  const { fold, events, tokens, run } = await start({ attempts: 2, retryOn: ['contract_violated'] });
  expect(fold.state.progress.status).toBe('completed');
  expect(tokens).toEqual([`${run.runId}/score/1`, `${run.runId}/score/2`]);
  const reported = events.filter(({ type }) => /CONTRACT|RETRIED|NODE_COMPLETED/.test(type));
  expect(reported).toMatchObject([
    { type: 'CONTRACT_VIOLATED', attempt: 1, phase: 'output', errors: [{ field: 'data', reason: 'type_mismatch' }] },
    { type: 'NODE_RETRIED', attempt: 1, failure: { code: 'output_contract_violation' } },
    { type: 'NODE_COMPLETED', nodeId: 'score', attempt: 2 },
  ]);
  const retried = reported[1];
  // Between half of the configured 500 ms and all of it.
  expect(retried?.type === 'NODE_RETRIED' && retried.delayMs >= 250 && retried.delayMs <= 500).toBe(true);
});

test('by default it is not retried', async () => {
  const { fold, events, tokens } = await start({ attempts: 3 });
  expect([fold.state.progress.status, tokens.length]).toEqual(['failed', 1]);
  expect(events.slice(-4).map(({ type }) => type)).toEqual([
    'CONTRACT_VIOLATED',
    'NODE_FAILED',
    'RUN_STATUS_CHANGED',
    'RUN_FAILED',
  ]);
});
