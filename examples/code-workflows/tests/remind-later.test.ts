import { WorkflowTest } from 'stepwell/testing';
import { expect, test } from 'vitest';
import { remindLater } from '../workflows/remind-later.ts';

test('a reminder after a year is there in a moment', async () => {
  const bench = new WorkflowTest({ workflows: [remindLater], startAt: new Date('2026-07-01T12:00:00Z') });
  const run = await bench.start(remindLater, { text: 'renew the lease', seconds: 365 * 86_400 }, { deadline: '2 years' });
  expect(await run.result()).toBe('Remember: renew the lease');
  expect(bench.now()).toEqual(new Date('2027-07-01T12:00:00Z'));
});
