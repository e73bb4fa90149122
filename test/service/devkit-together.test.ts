/** Requests about one run that come while the process commits another one: they share the next commit, and none sees the others. */
import { expect, test } from 'vitest';
import type { WorldRequest } from '../../lib/engine/devkit/decide.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type DevKitEnv, answered, completed, createDevKitEnv, lazyStart, step } from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `step_${index}`);

interface Counted extends DevKitEnv {
  readonly run: RunAddress;
  /** the events of each commit since the run has started */
  readonly commits: string[][];
  /** the next puts fail before they reach the log */
  readonly failNextPuts: (count: number) => void;
}

async function counted(): Promise<Counted> {
  const commits: string[][] = [];
  let failures = 0;
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      put: async (run, commit, expiresAt) => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('the process is out of memory');
        }
        const result = await deps.log.put(run, commit, expiresAt);
        if (result.kind === 'stored')
          commits.push(commit.events.map((event) => (event.type === 'DEVKIT' ? event.event : event.type)));
        return result;
      },
    }),
  });
  const created = await createDevKitEnv({ wrap });
  const run = await created.start();
  commits.length = 0;
  return { ...created, run, commits, failNextPuts: (count) => void (failures = count) };
}

const askAll = ({ ask, run }: Counted, requests: readonly WorldRequest[]) =>
  Promise.all(requests.map((request) => ask(run, request)));

test('ten steps that are created at once take two commits, and each answer is about its own step', async () => {
  const env = await counted();
  const answers = await askAll(
    env,
    ids(10).map((id) => step(id)),
  );
  expect(env.commits.map(({ length }) => length)).toEqual([1, 9]);
  expect(answers.map((answer) => answered(answer).step?.['stepId'])).toEqual(ids(10));
  const eventIds = answers.map((answer) => JSON.stringify(answered(answer).event?.['eventId']));
  expect(new Set(eventIds).size).toBe(10);
  expect(eventIds).toEqual(eventIds.toSorted());
});

test('a refused request leaves the others as they are', async () => {
  const env = await counted();
  const answers = await askAll(env, [step('a'), step('b'), completed('none'), step('c')]);
  expect(answers.map((answer) => (answer.kind === 'refused' ? answer.code : 'recorded'))).toEqual([
    'recorded',
    'recorded',
    'step_not_found',
    'recorded',
  ]);
  expect(env.commits).toEqual([['step_created'], ['step_created', 'step_created']]);
});

test('two requests about one step have a commit each, and each answer shows what its request left', async () => {
  const env = await counted();
  const answers = await askAll(env, [step('a'), step('b'), lazyStart('c'), completed('c'), step('d')]);
  expect(answers.map((answer) => answered(answer).step?.['status'])).toEqual([
    'pending',
    'pending',
    'running',
    'completed',
    'pending',
  ]);
  expect(env.commits).toHaveLength(3);
});

test('large values do not share a commit', async () => {
  const env = await counted();
  const large = (id: string): WorldRequest => ({ ...step(id), payload: inline('x'.repeat(40_000)) });
  await askAll(env, ids(5).map(large));
  expect(env.commits.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1]);
});

test('more than fifty requests take further commits', async () => {
  const env = await counted();
  await askAll(
    env,
    ids(102).map((id) => step(id)),
  );
  expect(env.commits.map(({ length }) => length)).toEqual([1, 50, 50, 1]);
});

test('a commit that fails fails each of its requests, and the next request is recorded', async () => {
  const env = await counted();
  env.failNextPuts(2);
  const answers = await Promise.allSettled(ids(3).map((id) => env.ask(env.run, step(id))));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(env.commits).toEqual([]);
  answered(await env.ask(env.run, step('step_0')));
  expect(env.commits).toEqual([['step_created']]);
});

test('two processes with parallel requests lose no request and record none twice', async () => {
  const env = await counted();
  const other = env.other();
  const answers = await Promise.all(
    ids(20).map((id, index) => env.ask(env.run, step(id), {}, index % 2 === 0 ? env.world : other)),
  );
  const eventIds = answers.map((answer) => answered(answer).event?.['eventId']);
  expect(new Set(eventIds).size).toBe(20);
  expect(env.commits.flat()).toHaveLength(20);
  expect(env.commits.length).toBeLessThan(10);
});

test('requests that wait while another process ends the run are in the log only if they are answered so', async () => {
  const env = await counted();
  const end = env.ask(env.run, { event: 'run_completed', payload: inline('done') }, {}, env.other());
  const answers = await Promise.all(ids(5).map((id) => env.ask(env.run, step(id))));
  await end;
  const recorded = answers.filter(({ kind }) => kind === 'answered').length;
  expect(env.commits.flat().filter((event) => event === 'step_created')).toHaveLength(recorded);
  expect(recorded).toBeLessThan(5);
  expect(await env.ask(env.run, step('late'))).toMatchObject({ kind: 'refused', code: 'entity_conflict' });
});

test('requests about a run that does not exist are answered so, each', async () => {
  const env = await counted();
  const nowhere = env.newRun();
  const answers = await Promise.all(ids(3).map((id) => env.ask(nowhere, step(id))));
  for (const answer of answers) expect(answer).toMatchObject({ kind: 'refused', code: 'run_not_found' });
});
