/** External-worker runs on the command line: what reads them, what explains them, and what refuses them. */
import { beforeEach, describe, expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { TestBackend, bad, thrice } from '../openworkflow/test-backend.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, errorIn, expectExit } from './test-cli.ts';

let environment: CliEnvironment;
let worker: TestBackend;
let cli: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  const { externalLogs, clock } = environment.api.world;
  worker = new TestBackend(externalLogs, { clock, namespaceId: 'acme/test' });
  cli = await environment.cliWithScopes(['admin']);
});

const explained = async (id: string): Promise<string> => {
  const [line = ''] = (await cli.type('explain', id)).out.split('\n');
  return line;
};

describe('explain', () => {
  test('of a run that no worker holds says from when on a worker can claim it, and why it is retried', async () => {
    const { id } = await worker.create({ workflowName: 'ship order' });
    expect(await explained(id)).toMatch(/^It waits for a worker of its program, which can claim it\. It fails if/);
    await worker.claim();
    expect(await explained(id)).toMatch(/^Worker w executes it, between two steps\./);
    const step = await worker.step(id, { stepName: 'ship' });
    expect(await explained(id)).toMatch(/^Node ship \(function\) is running since /);
    await worker.backend.failStepAttempt({ workflowRunId: id, workerId: 'w', stepAttemptId: step.id, error: bad });
    await worker.fail(id, thrice);
    expect(await explained(id)).toMatch(/which can claim it from \S+ \(.*\) on\. Step ship failed: it is bad\./);
  });

  test('of a waiting run names what it waits for, and no command that does not apply', async () => {
    const { id } = await worker.claimed();
    await worker.wait(id, 'approve');
    expect(await explained(id)).toMatch(/^Node approve \(signal-wait\) waits for the signal approve since .*, until /);
    const sleeper = await worker.claimed();
    const context = { kind: 'sleep', resumeAt: worker.at(minutes(9)).toISOString() } as const;
    await worker.step(sleeper.id, { stepName: 'nap', kind: 'sleep', context });
    expect(await explained(sleeper.id)).toMatch(/^Node nap \(sleep\) sleeps until \S+ \(in 9 min\)\. It fails/);
  });
});

test('latest is also a run of the library, and runs list and get name its workflow and version', async () => {
  const { id } = await worker.create({ workflowName: 'ship order', version: 'v2' });
  expect((await cli.type('runs', 'list')).out).toMatch(new RegExp(`^${id} +.*pending +ship order@v2 \\(openworkflow\\)`, 'm'));
  expect((await cli.type('runs', 'get', 'latest')).out).toMatch(
    new RegExp(`^${id} [^]*^workflow +ship order@v2 \\(openworkflow\\)$`, 'm'),
  );
});

test.each([
  ['runs', 'cancel'],
  ['runs', 'rerun'],
  ['runs', 'wake'],
  ['runs', 'resume'],
  ['runs', 'stop'],
  ['runs', 'tags'],
  ['logs'],
])('%s %s of a run of the library is refused and sends nothing', async (...command) => {
  const { id } = await worker.create();
  const refused = await cli.type(...command, id, '--json');
  expect(refused.exitCode).not.toBe(0);
  expect(errorIn(refused)).toMatchObject({ code: 'external_run', message: expect.stringContaining('Use the library') });
  expect(cli.sent).toEqual([]);
});

test('a command for other runs does not take a run of the library as the latest', async () => {
  await worker.create();
  expect(errorIn(await cli.type('runs', 'tags', 'latest', '--json'))).toMatchObject({ code: 'external_run' });
});

test('a bulk operation skips runs of the library', async () => {
  await worker.create();
  const cancelled = await cli.type('runs', 'cancel', '--status', 'pending', '--yes');
  expectExit(cancelled, 0);
  expect(cancelled.out).toContain('No run matches.');
});
