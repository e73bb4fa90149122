/** `workflows delete`: nothing is deleted unless its name was typed, and it is waited for. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import { sweepDeletions } from '../functions/sweep.ts';
import type { Terminal } from '../../lib/cli/terminal.ts';
import { cliHere, dataIn, errorIn } from './cli-here.ts';

/** Between two looks the sweep comes by; the time that a request may take never passes. */
const sleeping =
  (between: () => Promise<unknown>): Terminal['sleep'] =>
  (ms, signal) =>
    ms < 10_000 ? between().then(() => {}) : new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

const withRun = async (given: { typed?: string; isInteractive?: boolean } = {}) => {
  const here = cliHere();
  const admin = await here.typistOf(['admin'], {
    ...given,
    sleep: sleeping(() => sweepDeletions(here.api)),
  });
  const key = await here.api.key(['admin']);
  await started(here.api, key, { graph: openGraph });
  const isThere = async () => (await here.api.call('GET', '/v1/workflows/flow', { key })).status === 200;
  const isClosed = async () => (await here.api.call('GET', '/v1/workflows/flow', { key })).body['deletingSince'] !== undefined;
  return { here, key, admin, isThere, isClosed };
};

test('the name is asked for, and typed it is deleted', async () => {
  const { admin, isThere } = await withRun({ isInteractive: true, typed: 'flow' });
  const { exitCode, out, err } = await admin.type('workflows', 'delete', 'flow');
  expect(admin.asked).toEqual([
    'This deletes the workflow flow, up to version 1, and all its runs, for good; open runs are cancelled. Its name:',
  ]);
  expect([exitCode, out]).toEqual([0, 'flow is deleted.\n']);
  expect(err).toContain('0 runs found so far\n');
  expect(await isThere()).toBe(false);
});

test.each(['', 'Flow', 'flow ', 'y'])('typed as %j it is not', async (typed) => {
  const { admin, isClosed } = await withRun({ isInteractive: true, typed });
  expect(await admin.type('workflows', 'delete', 'flow')).toMatchObject({ exitCode: 3 });
  expect(await isClosed()).toBe(false);
});

test('where there is nobody to ask, --confirm says the name, and nothing else will do', async () => {
  const { admin, isThere, isClosed } = await withRun();
  const asked = await admin.type('--json', 'workflows', 'delete', 'flow');
  expect([asked.exitCode, errorIn(asked)]).toMatchObject([
    3,
    { code: 'confirmation_required', message: expect.stringMatching(/add --confirm flow\.$/) },
  ]);
  for (const wrong of [['--yes'], ['--confirm', 'other'], ['--confirm']])
    expect((await admin.type('--json', 'workflows', 'delete', 'flow', ...wrong)).exitCode).toBe(3);
  expect(await isClosed()).toBe(false);
  const done = await admin.type('--json', 'workflows', 'delete', 'flow', '--confirm', 'flow');
  expect(dataIn(done, z.strictObject({ name: z.string(), deleted: z.literal(true) }))).toEqual({ name: 'flow', deleted: true });
  expect(await isThere()).toBe(false);
});

test('without waiting it says how to see how far it has come', async () => {
  const { admin, isClosed } = await withRun();
  const { exitCode, out } = await admin.type('workflows', 'delete', 'flow', '--confirm', 'flow', '--no-wait');
  expect([exitCode, out]).toEqual([0, 'flow is being deleted. stepwell workflows get flow shows how far that has come.\n']);
  expect(await isClosed()).toBe(true);
  expect((await admin.type('workflows', 'get', 'flow')).err).toContain(', being deleted: 0 runs found so far');
  expect((await admin.type('--json', 'workflows', 'publish', 'flow')).exitCode).not.toBe(0);
});

test('a workflow of that name that was published meanwhile ends the wait as well', async () => {
  const { here, key } = await withRun();
  const admin = await here.typistOf(['admin'], {
    sleep: sleeping(async () => {
      await sweepDeletions(here.api);
      await here.api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    }),
  });
  expect((await admin.type('workflows', 'delete', 'flow', '--confirm', 'flow')).out).toBe('flow is deleted.\n');
});

test('one that is not there: 1', async () => {
  const { admin } = await withRun();
  const answer = await admin.type('--json', 'workflows', 'delete', 'nobody', '--confirm', 'nobody');
  expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'workflow_not_found']);
});
