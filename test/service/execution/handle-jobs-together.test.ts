/** The first jobs of several runs in one message: each is executed or sent, however long or unlucky those before it are. */
import { beforeEach, expect, test } from 'vitest';
import { durationMs } from '../../../lib/engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../../../lib/memory/memory-ports.ts';
import type { JobsTogether, NodeJob } from '../../../lib/ports/jobs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { handleJobsTogether, maxHoldUp } from '../../../lib/service/execution/handle-jobs-together.ts';
import { nodeJob } from '../../contract/jobs.suite.ts';
import { overrideMethods } from '../override-methods.ts';

const [first, second, third] = [nodeJob(), nodeJob(), nodeJob()];
const together: JobsTogether = { jobs: [first, second, third] };
const justLess = durationMs(maxHoldUp - 1);

let ports: MemoryPorts;
let executed: NodeJob[];
beforeEach(() => {
  ports = memoryPorts();
  executed = [];
});

const handle = (
  work: (job: NodeJob) => Promise<void> = async () => {},
  isRedelivered = false,
  { jobs }: Pick<MemoryPorts, 'jobs'> = ports,
) =>
  handleJobsTogether({ jobs, clock: ports.clock }, together, { isRedelivered }, async (job) => {
    executed.push(job);
    await work(job);
  });

test('are executed one after the other, and nothing is sent', async () => {
  let atOnce = 0;
  await handle(async () => {
    atOnce += 1;
    expect(atOnce).toBe(1);
    await Promise.resolve();
    atOnce -= 1;
  });
  expect(executed).toEqual([first, second, third]);
  ports.clock.advance(maxHoldUp);
  expect(ports.jobs.takeSent()).toEqual([]);
});

test('that have not begun when the others have taken too long get messages of their own, while the slow one continues', async () => {
  const slow = Promise.withResolvers<void>();
  const handled = handle((job) => (job === second ? slow.promise : Promise.resolve()));
  await expect.poll(() => executed.length).toBe(2);
  ports.clock.advance(justLess);
  expect(ports.jobs.takeSent()).toEqual([]);
  ports.clock.advance(durationMs(1));
  await expect.poll(() => ports.jobs.takeSent()).toEqual([third]);
  slow.resolve();
  await handled;
  expect(executed).toEqual([first, second]);
});

test('that follow one that fails are executed, and the message is handled again', async () => {
  await expect(handle((job) => (job === first ? Promise.reject(new Unavailable('a store')) : Promise.resolve()))).rejects.toThrow(
    'a store',
  );
  expect(executed).toEqual([first, second, third]);
});

test('of a message that is delivered again get messages of their own: a crash is attributed to one run', async () => {
  await handle(undefined, true);
  expect(executed).toEqual([]);
  expect(ports.jobs.takeSent()).toEqual([first, second, third]);
});

test('that could not be sent bring their message again', async () => {
  const slow = Promise.withResolvers<void>();
  const jobs = overrideMethods(ports.jobs, { send: () => Promise.reject(new Unavailable('a queue')) });
  const handled = handle(() => slow.promise, false, { jobs });
  const rejected = expect(handled).rejects.toThrow('a queue');
  await expect.poll(() => executed.length).toBe(1);
  ports.clock.advance(maxHoldUp);
  slow.resolve();
  await rejected;
  expect(executed).toEqual([first]);
});
