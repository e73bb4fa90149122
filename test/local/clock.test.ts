import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { freshFolder } from './stacks.ts';

const clockModule = new URL('../../lib/local/clock/shifted-clock.ts', import.meta.url).href;
const day = 86_400_000;

/** Runs a program in a process of its own: the clock cannot be set back in this one. */
function run(program: string, files: Readonly<Record<string, string>> = {}): unknown {
  const folder = freshFolder();
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries({ ...files, 'main.mjs': program })) writeFileSync(join(folder, name), text);
  const { stdout, stderr } = spawnSync(process.execPath, ['main.mjs'], { cwd: folder, encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const readings = z.array(z.number());
const daysAhead = (values: unknown): readonly number[] =>
  readings.parse(values).map((ms) => Math.round(Math.abs(ms - Date.now()) / day));

test('an advance moves every way to read the time, and dates stay dates', () => {
  const program = `import { shiftClock } from ${JSON.stringify(clockModule)};
const { setOffset } = shiftClock(${2 * day});
const { now } = Date;
const before = Date.now();
setOffset(${8 * day});
const date = new Date();
console.log(JSON.stringify({ times: [before, Date.now(), now(), +new Date(), Date.parse(Date())],
  same: [date instanceof Date, new Date(5).getTime() === 5, Date.UTC(2026, 0) === +new Date('2026-01-01T00:00:00Z'), typeof Date() === 'string'] }));`;
  const { times, same } = z.object({ times: readings, same: z.array(z.boolean()) }).parse(run(program));
  expect(daysAhead(times)).toEqual([2, 8, 8, 8, 8]);
  expect(same).toEqual([true, true, true, true]);
});

test('the threads of a function, and the threads that these start, read the same clock while they run', () => {
  const files = {
    'function.mjs': `import { followClock } from ${JSON.stringify(clockModule)};
import { Worker, parentPort } from 'node:worker_threads';
followClock();
followClock();
const inner = new Worker(new URL('code.mjs', import.meta.url), { env: {}, execArgv: [] });
parentPort.on('message', () => inner.postMessage('time?'));
inner.on('message', (time) => parentPort.postMessage([Date.now(), time]));`,
    'code.mjs': `import { parentPort } from 'node:worker_threads';
parentPort.on('message', () => parentPort.postMessage(new Date().getTime()));`,
  };
  const program = `import { shiftClock } from ${JSON.stringify(clockModule)};
import { Worker } from 'node:worker_threads';
const { setOffset } = shiftClock(0);
const thread = new Worker(new URL('function.mjs', import.meta.url));
const ask = () => new Promise((resolve) => { thread.once('message', resolve); thread.postMessage('time?'); });
const first = await ask();
setOffset(${8 * day});
console.log(JSON.stringify([...first, ...(await ask())]));
process.exit();`;
  expect(daysAhead(run(program, files))).toEqual([0, 0, 8, 8]);
});

test('a thread of a process without a shifted clock reads the time of the machine', () => {
  const files = {
    'function.mjs': `import { followClock } from ${JSON.stringify(clockModule)};
import { parentPort } from 'node:worker_threads';
followClock();
parentPort.postMessage(Date.now());`,
  };
  const program = `import { Worker } from 'node:worker_threads';
const thread = new Worker(new URL('function.mjs', import.meta.url));
thread.once('message', (time) => console.log(JSON.stringify([time])));`;
  expect(daysAhead(run(program, files))).toEqual([0]);
});

test('the clock of a state folder keeps its offset over restarts, and never goes back', () => {
  const cloudClock = new URL('../../lib/local/clock/cloud-clock.ts', import.meta.url).href;
  const state = fileURLToPath(new URL(`file://${freshFolder()}`));
  const program = `import { openClock } from ${JSON.stringify(cloudClock)};
const clock = openClock(${JSON.stringify(state)});
const before = Date.now();
clock.advance(${6 * day});
console.log(JSON.stringify({ times: [before, Date.now()], refused: clock.advance(${400 * day}) === undefined, offsetMs: clock.offsetMs() }));`;
  const answers = [run(program), run(program)].map((answer) =>
    z.object({ times: readings, refused: z.boolean(), offsetMs: z.number() }).parse(answer),
  );
  expect(answers.map(({ times }) => daysAhead(times))).toEqual([
    [0, 6],
    [6, 12],
  ]);
  expect(answers.map(({ refused, offsetMs }) => [refused, offsetMs])).toEqual([
    [true, 6 * day],
    [true, 12 * day],
  ]);
});
