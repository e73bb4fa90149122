import { WorkflowTest } from 'stepwell/testing';
import { expect, test } from 'vitest';
import { awaitApproval } from '../workflows/await-approval.ts';

const request = { requestId: 'r-17', amount: 250 };

test('somebody approves', async () => {
  const bench = new WorkflowTest({ workflows: [awaitApproval] });
  const run = await bench.start(awaitApproval, request);
  await bench.advance('1 day');
  await bench.sendSignal({ signal: 'approval', correlation: 'r-17', data: { by: 'Ada' } });
  expect(await run.result()).toEqual({ approved: true, by: 'Ada' });
});

test('after seven days without a word it is refused', async () => {
  const bench = new WorkflowTest({ workflows: [awaitApproval] });
  const run = await bench.start(awaitApproval, request, { deadline: '8 days' });
  expect(await run.result()).toEqual({ approved: false, by: null });
  expect(bench.now()).toEqual(new Date('2026-01-08T00:00:00Z'));
});
