/** A watcher that fails during its attempt: the error fails that attempt's delivery, not the process. */
import { expect, onTestFinished, test } from 'vitest';
import { seconds } from '../../lib/engine/time.ts';
import { finished, createTestEnv, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

test('a failed watcher ends the delivery after the attempt, and does not end the process', async () => {
  const unhandledErrors: unknown[] = [];
  const recordUnhandled = (error: unknown): void => void unhandledErrors.push(error);
  process.on('unhandledRejection', recordUnhandled);
  onTestFinished(() => void process.off('unhandledRejection', recordUnhandled));
  let release: (() => void) | undefined;
  const env = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
  await env.publish({ ...workflow('flow', 'a>b', { a: { policy: { timeoutMs: seconds(600) } } }) });
  await env.begin('flow');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  let isBroken = false;
  const log = overrideMethods(env.ports.log, {
    commitsAfter: async (run, from) => {
      if (isBroken) throw new Error('the log cannot be');
      return env.ports.log.commitsAfter(run, from);
    },
  });
  const taking = env.take(job, { worker: { ...env.worker, deps: { ...env.worker.deps, log } } });
  const ended = taking.then(
    () => 'well',
    (error: unknown) => String(error),
  );
  await nextTick();
  isBroken = true;
  env.ports.clock.advance(seconds(1));
  await nextTick();
  await nextTick();
  expect([release === undefined, unhandledErrors]).toEqual([false, []]);
  release?.();
  expect(await ended).toBe('Error: the log cannot be');
});
