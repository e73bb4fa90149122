/** The way from a failed run to the attempt that failed first. */
import { expect, test } from 'vitest';
import type { Run } from '../../lib/console/api.ts';
import { type CauseReader, causeChain } from '../../lib/console/run/root-cause.ts';

const failure = (code: string, details: Readonly<Record<string, string | number>> = {}) => ({
  code,
  cause: 'error',
  message: `because of ${code}`,
  details,
});
const failedRun = (runId: string, nodeId: string, error: ReturnType<typeof failure>): Run => ({
  runId,
  status: 'failed',
  workflowName: `flow of ${runId}`,
  workflowVersion: 1,
  deploymentId: null,
  specVersion: 1,
  createdAt: '',
  deadlineAt: '',
  nodes: [],
  lastEventId: 9,
  error,
  rootCause: { nodeId, attempt: 1, error },
});

const children: Readonly<Record<string, Run>> = {
  child: failedRun('child', 'lines', failure('loop_item_failed', { index: 3, itemNodeId: 'charge' })),
};
const reader: CauseReader = {
  run: async (runId) => {
    const found = children[runId];
    if (found === undefined) throw new Error(`no run ${runId}`);
    return found;
  },
  failureOf: async () => ({ error: failure('script_threw', { line: 3, column: 7 }), attempt: 2 }),
};

test('leads through a called run and a loop to the line of the script', async () => {
  const run = failedRun('run', 'bill', failure('subflow_failed', { childRunId: 'child' }));
  const steps = await causeChain(run, reader);
  expect(steps.map(({ runId, nodeId, iteration, attempt }) => [runId, nodeId, iteration, attempt])).toEqual([
    ['run', 'bill', undefined, 1],
    ['child', 'lines', undefined, 1],
    ['child', 'charge', 'lines[3]', 2],
  ]);
  expect(steps.at(-1)).toMatchObject({ at: 'line 3, column 7 of its script', error: { code: 'script_threw' } });
});

test("does not follow the details of an author's own error", async () => {
  const steps = await causeChain(failedRun('run', 'bill', failure('mine', { childRunId: 'child', index: 1 })), reader);
  expect(steps).toHaveLength(1);
});

test('ends where runs call each other in a circle', async () => {
  const circle = failedRun('run', 'bill', failure('subflow_failed', { childRunId: 'run' }));
  const steps = await causeChain(circle, { ...reader, run: async () => circle });
  expect(steps.length).toBe(40);
});
