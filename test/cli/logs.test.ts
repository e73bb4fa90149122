/** `logs` prints what the scripts of a run printed, and what the functions logged for it. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { durationMs } from '../../lib/engine/time.ts';
import { started } from '../functions/http.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, createFolder, url } from './test-cli.ts';

const chatty = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.names}}' } },
    { id: 'greet', type: 'javascript', config: { code: 'console.log("hello", ctx.item);\nreturn 1;' } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'each' },
    { source: 'each', target: 'greet', sourceHandle: 'loop' },
    { source: 'each', target: 'end', sourceHandle: 'done' },
  ],
};

let environment: CliEnvironment;
let admin: TestCli;
let run: string;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
  run = await started(environment.api, await environment.api.key(['admin']), { graph: chatty, input: { names: ['Ada', 'Bo'] } });
});

test('printed lines are followed until the run ends, each with its node and iteration', async () => {
  const { exitCode, out } = await environment.runToEnd(admin.type('logs', run, '--follow'));
  expect(exitCode).toBe(0);
  const lines = out.trimEnd().split('\n');
  expect(lines.map((line) => line.replace(/^\S+/, ''))).toEqual(['  greet@each[0]  hello Ada', '  greet@each[1]  hello Bo']);
});

test('with --json each line is an object, and runs logs is the same command', async () => {
  await environment.runToEnd(admin.type('runs', 'result', run));
  const { out } = await admin.type('runs', 'logs', 'latest', '--json');
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { nodeId: 'greet', iteration: 'each[0]', attempt: 1, line: 'hello Ada' },
    { nodeId: 'greet', iteration: 'each[1]', attempt: 1, line: 'hello Bo' },
    { ok: true, data: { runId: run, lines: 2 } },
  ]);
});

test('runs events and runs watch show the lines below their event', async () => {
  const watched = await environment.runToEnd(admin.type('runs', 'watch', run));
  const listed = await admin.type('runs', 'events', run);
  for (const { out } of [watched, listed]) expect(out).toMatch(/node\.log {2}greet\n {6}│ hello Ada\n/);
});

test('a run that printed nothing says when lines appear', async () => {
  const { out, err } = await admin.type('logs', run);
  expect([out.trim(), err]).toEqual(['', expect.stringContaining('The lines of an attempt appear when it ends.')]);
});

test('of an installation in AWS, the query for the lines of the functions is printed', async () => {
  const { err } = await admin.type('logs', run, '--functions');
  expect(err).toContain('The API key gives no access to CloudWatch');
  expect(err).toContain(`filter @message like "${run}" | sort @timestamp asc`);
});

/** A folder whose embedded cloud is the service of the test. */
function localFolder(): { readonly cwd: string; readonly append: (name: string, text: string) => void } {
  const cwd = createFolder();
  mkdirSync(join(cwd, '.stepwell', 'logs'), { recursive: true });
  writeFileSync(join(cwd, '.stepwell', 'local.json'), JSON.stringify({ url, apiKey: 'unused' }));
  return { cwd, append: (name, text) => appendFileSync(join(cwd, '.stepwell', 'logs', `${name}.log`), text) };
}
/** A line of the code function for what deployed code printed between its steps. */
const printedBetween = (at: number, runId: string, text: string): string =>
  `${JSON.stringify({ timestamp: new Date(at).toISOString(), message: 'output of deployed code', runId, stream: 'stdout', text })}\n`;

test('what code printed between its steps is shown by default, in the order of time', async () => {
  await environment.runToEnd(admin.type('runs', 'result', run));
  const { cwd, append } = localFolder();
  const ended = environment.api.world.clock.now();
  append(
    'code',
    printedBetween(ended + 60_000, run, 'later') + printedBetween(1, run, 'first') + printedBetween(2, 'wrun_other', 'no'),
  );
  append('worker', `${JSON.stringify({ timestamp: new Date(1).toISOString(), runId: run })}\n`);
  const local = await environment.cliWithScopes(['admin'], { cwd });
  const { out } = await local.type('logs', run);
  expect(out.replaceAll(/^\S+/gm, '').trimEnd().split('\n')).toEqual([
    '  (workflow)  first',
    '  greet@each[0]  hello Ada',
    '  greet@each[1]  hello Bo',
    '  (workflow)  later',
  ]);
  expect((await local.type('logs', run, '--json')).out).toContain('"stream":"stdout","line":"first"');
});

test('--follow --functions prints the lines of the functions while the run is open', async () => {
  const { cwd, append } = localFolder();
  const { clock } = environment.api.world;
  append('worker', `{"runId":"${run}","n":1}\n{"runId":"${run}","n":`);
  let sleeps = 0;
  const local = await environment.cliWithScopes(['admin'], {
    cwd,
    sleep: (ms, signal) => {
      // The rest of a line, while the run is open, and a line after its end.
      if ((sleeps += 1) === 1) append('worker', `2}\n`);
      else append('api', `{"runId":"${run}","n":${sleeps}}\n`);
      return clock.sleep(durationMs(ms), signal);
    },
  });
  const { out } = await environment.runToEnd(local.type('logs', run, '--follow', '--functions'));
  const printed = out.trimEnd().split('\n');
  expect(printed.filter((line) => line.startsWith('worker'))).toEqual([
    `worker  {"runId":"${run}","n":1}`,
    `worker  {"runId":"${run}","n":2}`,
  ]);
  expect(printed.indexOf(`worker  {"runId":"${run}","n":1}`)).toBe(0);
  expect(printed).toContain(`api  {"runId":"${run}","n":${sleeps}}`);
});

test('of the embedded cloud, the lines of the functions that name the run are printed, in order of time', async () => {
  const cwd = createFolder();
  mkdirSync(join(cwd, '.stepwell', 'logs'), { recursive: true });
  writeFileSync(join(cwd, '.stepwell', 'local.json'), JSON.stringify({ url, apiKey: 'unused' }));
  const line = (time: number, runId: string): string => `${JSON.stringify({ timestamp: new Date(time).toISOString(), runId })}\n`;
  writeFileSync(join(cwd, '.stepwell', 'logs', 'worker.log'), line(3, run) + line(1, run) + line(2, 'wrun_other'));
  writeFileSync(join(cwd, '.stepwell', 'logs', 'api.log'), line(2, run));
  const local = await environment.cliWithScopes(['admin'], { cwd });
  const { out } = await local.type('logs', run, '--functions');
  expect(out.match(/^\w+(?= )|:\d\d\.00\d/gm)).toEqual(['worker', ':00.001', 'api', ':00.002', 'worker', ':00.003']);
});
