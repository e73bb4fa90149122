/** A watcher that breaks while its attempt goes on: it is the attempt's own delivery that hears of it, and nobody else's. */
import { expect, onTestFinished, test } from 'vitest';
import { seconds } from '../../lib/engine/time.ts';
import { finished, createTestEnv, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('ends the delivery once the attempt is over, and does not end the process before', async () => {
  const strays: unknown[] = [];
  const hear = (trouble: unknown): void => void strays.push(trouble);
  process.on('unhandledRejection', hear);
  onTestFinished(() => void process.off('unhandledRejection', hear));
  let release: (() => void) | undefined;
  const home = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
  await home.publish({ ...workflow('flow', 'a>b', { a: { policy: { timeoutMs: seconds(600) } } }) });
  await home.begin('flow');
  const [job] = home.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  let isBroken = false;
  const log = overrideMethods(home.ports.log, {
    commitsAfter: async (run, from) => {
      if (isBroken) throw new Error('the log cannot be');
      return home.ports.log.commitsAfter(run, from);
    },
  });
  const taking = home.take(job, { worker: { ...home.worker, deps: { ...home.worker.deps, log } } });
  const ended = taking.then(
    () => 'well',
    (trouble: unknown) => String(trouble),
  );
  await turn();
  isBroken = true;
  home.ports.clock.advance(seconds(1));
  await turn();
  await turn();
  expect([release === undefined, strays]).toEqual([false, []]);
  release?.();
  expect(await ended).toBe('Error: the log cannot be');
});
