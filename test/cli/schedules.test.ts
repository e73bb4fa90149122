/** `schedules …`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import * as schedules from '../../lib/api/schemas/schedules.ts';
import { days } from '../../lib/engine/time.ts';
import { instantGraph } from '../functions/http.ts';
import {
  type CliEnvironment,
  type TestCli,
  createCliEnvironment,
  dataIn,
  errorIn,
  expectExit,
  createFolder,
} from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
let cwd: string;
beforeEach(async () => {
  environment = createCliEnvironment();
  cwd = createFolder();
  admin = await environment.cliWithScopes(['admin'], { cwd });
  await environment.api.call('POST', '/v1/workflows', {
    key: await environment.api.key(['admin']),
    body: { name: 'report', ...instantGraph() },
  });
});
const create = (...extraArgs: readonly string[]) =>
  admin.type('schedules', 'create', 'nightly', '--workflow', 'report', ...extraArgs);
const shown = async () => dataIn(await admin.type('--json', 'schedules', 'get', 'nightly'), schedules.scheduleResponse);

test('create sends every option and prints the next run', async () => {
  const { exitCode, out } = await create('--rate', '1 hour');
  expect([exitCode, out]).toEqual([0, expect.stringMatching(/^nightly runs next at 2026-01-\S+ \(in .*\)\.\n$/)]);
  expect(await shown()).toMatchObject({ rate: '1 hour', overlap: 'skip', catchUpSeconds: 86_400, paused: false });
  writeFileSync(join(cwd, 'input.json'), '{"n":1}');
  const line = ['--cron', '0 3 ? * MON-FRI *', '--time-zone', 'Europe/Berlin', '--input-file', 'input.json', '--paused'];
  const extraArgs = ['--overlap', 'allow', '--catch-up-seconds', '600', '--workflow-version', '1'];
  const times = ['--start-at', '2026-02-01T00:00:00Z', '--end-at', '2026-03-01T01:00:00+01:00'];
  const created = await admin.type(
    '--json',
    'schedules',
    'create',
    'full',
    '--workflow',
    'report',
    ...line,
    ...extraArgs,
    ...times,
  );
  expect(dataIn(created, schedules.scheduleResponse)).toMatchObject({
    scheduleId: 'full',
    workflowName: 'report',
    version: 1,
    input: { n: 1 },
    cron: '0 3 ? * MON-FRI *',
    timeZone: 'Europe/Berlin',
    startAt: '2026-02-01T00:00:00.000Z',
    endAt: '2026-03-01T00:00:00.000Z',
    overlap: 'allow',
    catchUpSeconds: 600,
    paused: true,
  });
});

test.each([
  ['two timings', ['--cron', '0 3 * * ? *', '--rate', '1 hour'], '--cron and --rate exclude each other.'],
  ['an unknown policy', ['--rate', '1 hour', '--overlap', 'wait'], "'--overlap <policy>' argument 'wait' is invalid"],
  ['no such time', ['--rate', '1 hour', '--start-at', 'tomorrow'], '--start-at must be a time such as'],
  ['too short a time to catch up', ['--rate', '1 hour', '--catch-up-seconds', '5'], '--catch-up-seconds must be 120 or more'],
])('create with %s sends nothing and exits with 3', async (_what, line, message) => {
  const { exitCode, err } = await create(...line);
  expect([exitCode, err]).toEqual([3, expect.stringContaining(message)]);
  expect(admin.sent).toEqual([]);
});

test('a refusal prints the pointer and exits with 1', async () => {
  const refused = await admin.type('--json', 'schedules', 'create', 'x', '--workflow', 'report', '--rate', 'sometimes');
  expect([refused.exitCode, errorIn(refused)]).toMatchObject([1, { status: 400, errors: [{ pointer: '/rate' }] }]);
});

test('update changes the given fields and removes "none" values', async () => {
  await create('--rate', '1 hour', '--workflow-version', '1', '--start-at', '2026-02-01T00:00:00Z');
  expectExit(await admin.type('schedules', 'update', 'nightly', '--overlap', 'allow', '--start-at', 'none'), 0);
  const changed = await shown();
  expect(changed).toMatchObject({ rate: '1 hour', version: 1, overlap: 'allow' });
  expect(changed).not.toHaveProperty('startAt');
  expectExit(await admin.type('schedules', 'update', 'nightly', '--workflow-version', 'latest', '--rate', '2 hours'), 0);
  expect(await shown()).not.toHaveProperty('version');
  const sent = admin.sent.length;
  for (const wrong of [[], ['--workflow-version', 'newest'], ['--end-at', 'never']])
    expect((await admin.type('schedules', 'update', 'nightly', ...wrong)).exitCode).toBe(3);
  expect(admin.sent).toHaveLength(sent);
});

test('pause, resume and delete show in the list as text', async () => {
  expect((await admin.type('schedules', 'list')).out).toBe('No schedule matches.\n');
  await create('--rate', '1 hour');
  expect((await admin.type('schedules', 'list')).out).toMatch(/^nightly +report +every 1 hour +✓ active +2026-/m);
  expect((await admin.type('schedules', 'pause', 'nightly')).out).toBe('nightly is paused.\n');
  expect((await admin.type('schedules', 'list')).out).toMatch(/every 1 hour +◷ paused/);
  expect((await admin.type('schedules', 'resume', 'nightly')).out).toMatch(/^nightly runs next at 2026-/);
  expect((await admin.type('schedules', 'delete', 'nightly')).out).toBe('nightly is deleted; runs that it started continue.\n');
  const listShape = z.strictObject({ items: z.array(schedules.scheduleList.shape.data.unwrap().element), hasMore: z.boolean() });
  expect(dataIn(await admin.type('--json', 'schedules', 'list'), listShape).items).toEqual([]);
  for (const command of ['get', 'pause', 'resume', 'delete']) {
    const answer = await admin.type('--json', 'schedules', command, 'nightly');
    expect([command, answer.exitCode, errorIn(answer).code]).toEqual([command, 1, 'not_found']);
  }
});

test('get shows the timing, the workflow and the state', async () => {
  const line = ['--cron', '0 3 ? * MON-FRI *', '--time-zone', 'Europe/Berlin', '--input', '{"n":1}'];
  await create(...line, '--end-at', '2026-01-10T00:00:00Z');
  const { out } = await admin.type('schedules', 'get', 'nightly');
  expect(out).toMatch(/^nightly {2}✓ active\n/);
  expect(out).toMatch(/^when +0 3 \? \* MON-FRI \* \(Europe\/Berlin\)$/m);
  expect(out).toMatch(/^input +\{"n":1\}$/m);
  environment.api.world.clock.advance(days(10));
  expect((await admin.type('schedules', 'get', 'nightly')).out).toMatch(/^nightly {2}– ended\n/);
});
