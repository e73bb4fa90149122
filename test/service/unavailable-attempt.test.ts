/** An attempt that could not read what it needs, before it asked anybody for anything: the message comes back, and nothing is decided. */
import { expect, test } from 'vitest';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { RunAttempt } from '../../lib/service/graph.ts';
import { finished, house, workflow } from './house.ts';

test('is no failure of its node, and the next delivery finds it as it was', async () => {
  const home = house();
  await home.publish(workflow('flow', 'a>b'));
  const run = await home.begin('flow');
  let isDown = true;
  const asked: unknown[] = [];
  const runAttempt: RunAttempt = async (_node, _input, { scope, number, token }) => {
    asked.push({ scope, number, token });
    if (isDown) throw new Unavailable('the secrets');
    return { outcome: finished('x'), printed: [] };
  };
  const [job] = home.world.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  const before = (await home.fold(run)).state.asOf;
  await expect(home.take(job, { worker: { ...home.worker, runAttempt } })).rejects.toThrow(Unavailable);
  expect((await home.fold(run)).state.asOf).toBe(before);

  isDown = false;
  await home.take(job, { isRedelivered: true, worker: { ...home.worker, runAttempt } });
  expect((await home.fold(run)).state.progress.status).toBe('completed');
  const { projectId, environment, runId } = run;
  const first = { scope: { projectId, environment }, number: 1, token: `${runId}/a` };
  expect(asked).toEqual([first, first, { ...first, token: `${runId}/b` }]);
});
