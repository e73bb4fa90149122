/** `workflows delete` requires the name as confirmation and waits for the end of the deletion. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import { sweepDeletions } from '../functions/sweep.ts';
import type { Terminal } from '../../lib/cli/command.ts';
import { createCliEnvironment, dataIn, errorIn } from './test-cli.ts';

/** The sweep runs between two checks; request timeouts never fire. */
const sleeping =
  (between: () => Promise<unknown>): Terminal['sleep'] =>
  (ms, signal) =>
    ms < 10_000 ? between().then(() => {}) : new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

const withRun = async (given: { typed?: string; isInteractive?: boolean } = {}) => {
  const environment = createCliEnvironment();
  const admin = await environment.cliWithScopes(['admin'], {
    ...given,
    sleep: sleeping(() => sweepDeletions(environment.api)),
  });
  const key = await environment.api.key(['admin']);
  await started(environment.api, key, { graph: openGraph });
  const workflowExists = async () => (await environment.api.call('GET', '/v1/workflows/flow', { key })).status === 200;
  const workflowIsClosed = async () =>
    (await environment.api.call('GET', '/v1/workflows/flow', { key })).body['deletingSince'] !== undefined;
  return { environment, key, admin, workflowExists, workflowIsClosed };
};

test('typing the name deletes the workflow', async () => {
  const { admin, workflowExists } = await withRun({ isInteractive: true, typed: 'flow' });
  const { exitCode, out, err } = await admin.type('workflows', 'delete', 'flow');
  expect(admin.questions).toEqual([
    'This permanently deletes the workflow flow, versions 1 to 1, and all its runs; open runs are cancelled. Type its name:',
  ]);
  expect([exitCode, out]).toEqual([0, 'flow is deleted.\n']);
  expect(err).toContain('0 runs found so far\n');
  expect(await workflowExists()).toBe(false);
});

test.each(['', 'Flow', 'flow ', 'y'])('typing %j deletes nothing', async (typed) => {
  const { admin, workflowIsClosed } = await withRun({ isInteractive: true, typed });
  expect(await admin.type('workflows', 'delete', 'flow')).toMatchObject({ exitCode: 3 });
  expect(await workflowIsClosed()).toBe(false);
});

test('a non-interactive terminal requires --confirm with the name', async () => {
  const { admin, workflowExists, workflowIsClosed } = await withRun();
  const unconfirmed = await admin.type('--json', 'workflows', 'delete', 'flow');
  expect([unconfirmed.exitCode, errorIn(unconfirmed)]).toMatchObject([
    3,
    { code: 'confirmation_required', message: expect.stringMatching(/add --confirm flow\.$/) },
  ]);
  for (const wrong of [['--yes'], ['--confirm', 'other'], ['--confirm']])
    expect((await admin.type('--json', 'workflows', 'delete', 'flow', ...wrong)).exitCode).toBe(3);
  expect(await workflowIsClosed()).toBe(false);
  const done = await admin.type('--json', 'workflows', 'delete', 'flow', '--confirm', 'flow');
  expect(dataIn(done, z.strictObject({ name: z.string(), deleted: z.literal(true) }))).toEqual({ name: 'flow', deleted: true });
  expect(await workflowExists()).toBe(false);
});

test('--no-wait prints how to see the progress', async () => {
  const { admin, workflowIsClosed } = await withRun();
  const { exitCode, out } = await admin.type('workflows', 'delete', 'flow', '--confirm', 'flow', '--no-wait');
  expect([exitCode, out]).toEqual([0, 'flow is being deleted. stepwell workflows get flow shows the progress.\n']);
  expect(await workflowIsClosed()).toBe(true);
  expect((await admin.type('workflows', 'get', 'flow')).err).toContain(', being deleted: 0 runs found so far');
  expect((await admin.type('--json', 'workflows', 'publish', 'flow')).exitCode).not.toBe(0);
});

test('a new workflow with the same name ends the wait too', async () => {
  const { environment, key } = await withRun();
  const admin = await environment.cliWithScopes(['admin'], {
    sleep: sleeping(async () => {
      await sweepDeletions(environment.api);
      await environment.api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    }),
  });
  expect((await admin.type('workflows', 'delete', 'flow', '--confirm', 'flow')).out).toBe('flow is deleted.\n');
});

test('an unknown name exits with 1', async () => {
  const { admin } = await withRun();
  const answer = await admin.type('--json', 'workflows', 'delete', 'unknown', '--confirm', 'unknown');
  expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'workflow_not_found']);
});
