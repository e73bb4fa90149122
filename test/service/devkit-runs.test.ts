/** Runs of the Workflow DevKit on memory: what each call answers when it comes twice, late, at once with another, or after a crash. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { slotId, slotOf } from '../../lib/engine/devkit/events.ts';
import { commitNo, eventId, runId as toRunId } from '../../lib/engine/ids.ts';
import { type JsonObject, inline } from '../../lib/engine/json.ts';
import { after, days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { createWorldBatch } from '../../lib/service/kinds/devkit/events-of-world.ts';
import { listEvents } from '../../lib/service/kinds/devkit/read-events.ts';
import { listHooks } from '../../lib/service/kinds/devkit/list-hooks.ts';
import { getHookByToken, getRun, getStep, listSteps, onRun } from '../../lib/service/kinds/devkit/world-reads.ts';
import type { WorldResult } from '../../lib/service/kinds/devkit/world-error.ts';
import { registerApp } from '../../lib/service/kinds/devkit/register-app.ts';
import { publishDevKitMessage } from '../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import {
  type DevKitEnv,
  answered,
  bytes,
  completed,
  createDevKitEnv,
  creation,
  hook,
  lazyStart,
  serialized,
  step,
  workflowName,
} from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { scope } from './test-env.ts';

/** Lets virtual time pass until the call has its answer. */
async function passTime({ ports }: Pick<DevKitEnv['env'], 'ports'>, call: Promise<unknown>): Promise<void> {
  let isDone = false;
  void call.finally(() => void (isDone = true));
  while (!isDone) {
    await new Promise((resolve) => void setImmediate(resolve));
    ports.clock.advance(seconds(0.1));
  }
}

const conflict = { kind: 'refused', code: 'entity_conflict' };

describe('a repeated call', () => {
  test('creates no second run', async () => {
    const { ask, newRun, app, other } = await createDevKitEnv();
    const run = newRun();
    const [one, two] = await Promise.all([ask(run, creation(app)), ask(run, creation(app), {}, other())]);
    expect([one.kind, two.kind].toSorted()).toEqual(['answered', 'refused']);
    expect(await ask(run, creation(app), {}, other())).toMatchObject(conflict);
  });

  test('starts a run that its message finds first, and the creation that comes later is a conflict', async () => {
    const { ask, newRun, app } = await createDevKitEnv();
    const run = newRun();
    const started = answered(await ask(run, { ...creation(app), event: 'run_started' }));
    expect(started.run).toMatchObject({ status: 'running', workflowName });
    expect(started.events?.map(({ eventType }) => eventType)).toEqual(['run_created', 'run_started']);
    expect(await ask(run, creation(app))).toMatchObject(conflict);
  });

  test('of a start answers the run and its events, and records nothing', async () => {
    const { ask, start, world } = await createDevKitEnv();
    const run = await start();
    const again = answered(await ask(run, { event: 'run_started' }));
    expect(again).toMatchObject({ cursor: slotId(eventId(2)), hasMore: false, maxEvents: 25_000 });
    expect(again.events).toHaveLength(2);
    expect(again.event).toBeUndefined();
    expect(answered(await ask(run, { event: 'run_started' }, { skipPreload: true })).events).toBeUndefined();
    expect(await getRun(world, scope, run.runId, 'none')).toMatchObject({ value: { status: 'running' } });
  });

  test.each([
    ['step_created', step()],
    ['a lazy step_started', lazyStart()],
    ['hook_created', hook('token')],
    ['wait_created', { event: 'wait_created', correlationId: 'wait_1' } as const],
    ['run_completed', { event: 'run_completed', payload: bytes } as const],
  ])('%s is a conflict, also in a function with an older fold', async (_name, request) => {
    const { ask, start, other } = await createDevKitEnv();
    const run = await start();
    const behind = other();
    await ask(run, { event: 'run_started' }, {}, behind);
    answered(await ask(run, request));
    expect(await ask(run, request, {}, behind)).toMatchObject(conflict);
    expect(await ask(run, request)).toMatchObject(conflict);
  });

  test('of a resumption answers the first event', async () => {
    const { ask, start, other } = await createDevKitEnv();
    const run = await start();
    await ask(run, hook('token'));
    const received = {
      event: 'hook_received',
      correlationId: 'hook_1',
      payload: bytes,
      resumeId: 'r',
      resumeDigest: 'd',
    } as const;
    const results = await Promise.all([ask(run, received), ask(run, received, {}, other()), ask(run, received, {}, other())]);
    expect(new Set(results.map((each) => answered(each).event?.['eventId']))).toEqual(new Set([slotId(eventId(4))]));
  });
});

describe('at once', () => {
  test('one of many completions of a step wins', async () => {
    const { ask, start, other, world } = await createDevKitEnv();
    const run = await start();
    await ask(run, lazyStart());
    const results = await Promise.all(Array.from({ length: 8 }, () => ask(run, completed(), {}, other())));
    expect(results.filter(({ kind }) => kind === 'answered')).toHaveLength(1);
    expect(results.filter((each) => each.kind === 'refused' && each.code === 'entity_conflict')).toHaveLength(7);
    const events = await onRun(world, scope, run.runId, (fold) => listEvents(world.deps, fold, {}, 'none'));
    expect(answered(events).data.filter(({ eventType }) => eventType === 'step_completed')).toHaveLength(1);
  });

  test('parallel steps take the next free slots, and each writer learns what it skipped', async () => {
    const { ask, start, other } = await createDevKitEnv();
    const run = await start();
    const worlds = [other(), other(), other()];
    for (const each of worlds) await ask(run, { event: 'run_started' }, {}, each);
    const results = await Promise.all(worlds.map((each, index) => ask(run, step(`step_${index}`), { eventCount: 2 }, each)));
    const slots = new Set(results.map((each) => answered(each).event?.['eventId']));
    expect(slots).toEqual(new Set([3, 4, 5].map((position) => slotId(eventId(position)))));
    for (const each of results.map(answered)) {
      const id = each.event?.['eventId'];
      const position = typeof id === 'string' ? (slotOf(id) ?? 0) : 0;
      expect(each.events ?? []).toHaveLength(position - 3);
    }
  });

  test('a delta has all events after the cursor, those of others too', async () => {
    const { ask, start, other } = await createDevKitEnv();
    const run = await start();
    await ask(run, lazyStart());
    const behind = other();
    await ask(run, { event: 'run_started' }, {}, behind);
    await ask(run, hook('token'));
    const delta = answered(await ask(run, completed(), { sinceCursor: slotId(eventId(2)) }, behind));
    expect(delta.events?.map(({ eventType }) => eventType)).toEqual([
      'step_created',
      'step_started',
      'hook_created',
      'step_completed',
    ]);
    expect(delta).toMatchObject({ cursor: slotId(eventId(6)), hasMore: false });
  });

  test('a batch is one commit, and leaves out what is refused', async () => {
    const { ask, start, world, env } = await createDevKitEnv();
    const run = await start();
    await ask(run, lazyStart('step_1'));
    const before = (await env.fold(run)).state.asOf;
    const requests = [
      completed('step_1'),
      completed('step_1'),
      step('step_2'),
      { event: 'step_started', correlationId: 'step_2' } as const,
    ];
    const { results } = answered(await createWorldBatch(world, { run, requests, resolveData: 'all' }));
    expect(results.map(({ status }) => status)).toEqual([200, 409, 200, 200]);
    expect(results.at(-1)).toMatchObject({ step: { status: 'running', attempt: 1 } });
    expect((await env.fold(run)).state.asOf).toBe(before + 1);
    expect(await createWorldBatch(world, { run, requests: [hook('t')], resolveData: 'all' })).toMatchObject({
      code: 'invalid_request',
    });
  });
});

describe('a token', () => {
  test('belongs to the first hook; the hook of another run becomes a conflict', async () => {
    const { ask, start, world } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    answered(await ask(one, hook('order')));
    const refused = answered(await ask(two, hook('order')));
    expect(refused.event).toMatchObject({
      eventType: 'hook_conflict',
      eventData: { token: 'order', conflictingRunId: one.runId },
    });
    expect(refused.hook).toBeUndefined();
    expect(answered(await getHookByToken(world, scope, 'order', 'all'))).toMatchObject({ runId: one.runId, hookId: 'hook_1' });
  });

  test.each(['disposed', 'ended'] as const)('is free when its hook is %s', async (how) => {
    const { ask, start, world } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    await ask(one, hook('order'));
    await ask(
      one,
      how === 'disposed' ? { event: 'hook_disposed', correlationId: 'hook_1' } : { event: 'run_completed', payload: bytes },
    );
    expect(await getHookByToken(world, scope, 'order', 'all')).toMatchObject({ code: 'hook_not_found' });
    expect(answered(await ask(two, hook('order'))).hook).toMatchObject({ runId: two.runId });
    expect(answered(await getHookByToken(world, scope, 'order', 'all'))).toMatchObject({ runId: two.runId });
  });

  test('is taken over at once from a run that was cancelled through the API, which frees no tokens', async () => {
    const { ask, start, env } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    await ask(one, hook('order'));
    await cancelRun(env.worker, one);
    expect(await env.deps.hookTokens.find(scope, 'order')).toMatchObject({ runId: one.runId });
    expect(answered(await ask(two, hook('order'))).hook).toMatchObject({ runId: two.runId });
  });

  test('is taken over from a run that ended and could not free it', async () => {
    const { ask, start, env } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    await ask(one, hook('order'));
    // The function crashed after its commit: the claim stayed.
    const claim = await env.deps.hookTokens.find(scope, 'order');
    await ask(one, { event: 'run_completed', payload: bytes });
    if (claim !== undefined) await env.deps.hookTokens.claim(scope, 'order', claim, after(env.deps.clock.now(), days(1)));
    expect(answered(await ask(two, hook('order'))).hook).toMatchObject({ runId: two.runId });
  });

  test('that a crashed request claimed goes to the next hook, and the event of that request must claim it again', async () => {
    const { ask, start, env } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    const { deps } = env;
    // The log of the first run has two commits.
    const claim = { runId: one.runId, hookId: 'hook_1', nonce: deps.ids.nonce(), commitNo: commitNo(3) };
    await deps.hookTokens.claim(scope, 'order', claim, after(deps.clock.now(), days(1)));
    const taking = ask(two, hook('order'));
    await passTime(env, taking);
    expect(answered(await taking).hook).toMatchObject({ runId: two.runId });
    const refusedHook = answered(await ask(one, hook('order')));
    expect(refusedHook.event).toMatchObject({ eventType: 'hook_conflict', eventId: 'evnt_00000000000000000000000003' });
  });

  test('that a crashed request claimed can be claimed by its own run at once', async () => {
    const { ask, start, env } = await createDevKitEnv();
    const run = await start();
    const { deps } = env;
    const claim = { runId: run.runId, hookId: 'hook_1', nonce: deps.ids.nonce(), commitNo: commitNo(2) };
    await deps.hookTokens.claim(scope, 'order', claim, after(deps.clock.now(), days(1)));
    expect(answered(await ask(run, hook('order'))).event).toMatchObject({ eventType: 'hook_created' });
  });

  test('goes to one of many hooks that ask at once', async () => {
    const { ask, start, other, env } = await createDevKitEnv();
    const runs = await Promise.all(Array.from({ length: 4 }, () => start()));
    const asking = Promise.all(runs.map((run) => ask(run, hook('order'), {}, other())));
    await passTime(env, asking);
    const results = await asking;
    const kinds = results.map((each) => (each.kind === 'answered' ? each.value.event?.['eventType'] : each.code));
    expect(kinds.filter((kind) => kind === 'hook_created')).toHaveLength(1);
  });
});

describe('values', () => {
  test('that are left out are not read', async () => {
    const reads: string[] = [];
    const { ask, start, world } = await createDevKitEnv({
      wrap: (deps) => ({
        ...deps,
        blobs: {
          ...deps.blobs,
          put: deps.blobs.put.bind(deps.blobs),
          get: (within, key) => (reads.push(key), deps.blobs.get(within, key)),
        },
      }),
    });
    const run = await start();
    const large = { value: { $bytes: Buffer.alloc(400_000, 'a7').toString('base64') } };
    await ask(run, { ...lazyStart(), payload: large }, { resolveData: 'none' });
    await ask(run, { ...completed(), payload: large }, { resolveData: 'none' });
    const none = await onRun(world, scope, run.runId, (fold) => listEvents(world.deps, fold, {}, 'none'));
    expect(answered(none).data.at(-1)).not.toHaveProperty('eventData');
    expect(answered(await getStep(world, scope, run.runId, 'step_1', 'none'))).not.toHaveProperty('output');
    expect(reads).toEqual([]);
    const all = answered(await getStep(world, scope, run.runId, 'step_1', 'all'));
    expect(all).toMatchObject({ input: large.value, output: large.value, attempt: 1 });
    expect(reads.length).toBeGreaterThan(0);
  });

  test('of ended steps come from the log', async () => {
    const { ask, start, world } = await createDevKitEnv();
    const run = await start(3);
    await ask(run, step('step_1'));
    await ask(run, { event: 'step_started', correlationId: 'step_1' });
    await ask(run, { event: 'step_failed', correlationId: 'step_1', payload: { value: 'boom' } });
    await ask(run, lazyStart('step_2'));
    const { data } = answered(await listSteps(world, scope, run.runId, {}, 'all'));
    expect(data).toMatchObject([
      { stepId: 'step_2', status: 'running', input: serialized },
      { stepId: 'step_1', status: 'failed', input: serialized, error: { message: 'boom' } },
    ]);
  });
});

describe('a replay of the code', () => {
  /** Two functions that serve one run in turn, and the commits that each read of the log brought. */
  async function replayed() {
    const reads: number[] = [];
    const wrap: NonNullable<Parameters<typeof createDevKitEnv>[0]>['wrap'] = (deps) => ({
      ...deps,
      log: overrideMethods(deps.log, {
        commitsAfter: async (...range) => {
          const found = await deps.log.commitsAfter(...range);
          reads.push(found.length);
          return found;
        },
      }),
    });
    const { ask, start, world, other } = await createDevKitEnv({ wrap });
    return { ask, world, second: other(), run: await start(3), reads };
  }

  test('reads only the commits that its function has not seen', async () => {
    const { ask, world, second, run, reads } = await replayed();
    const seen: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      // As in the 4.x line: a message for the code, and one for the step, which another function receives.
      const started = answered(await ask(run, { event: 'run_started', specVersion: 3 }, {}, world));
      seen.push(started.events?.length ?? 0);
      await ask(run, step(`step_${index}`), {}, world);
      await ask(run, { event: 'step_started', correlationId: `step_${index}` }, {}, second);
      await ask(run, completed(`step_${index}`), {}, second);
      if (index === 0) reads.length = 0;
    }
    expect(seen).toEqual([2, 5, 8, 11, 14]);
    // In turn the two commits of the step, and the one that created it with its own last two in between.
    expect(reads).toEqual([2, 1, 2, 1, 2, 1, 2, 1]);
  });

  test('reads the log again where more was recorded than a function keeps', async () => {
    const { ask, world, run } = await replayed();
    const large = { ...step(), payload: inline({ $bytes: 'A'.repeat(8_000) }) };
    for (let index = 0; index < 40; index += 1)
      await ask(run, { ...large, correlationId: `step_${index}` }, { resolveData: 'none' }, world);
    for (let replay = 0; replay < 2; replay += 1) {
      const started = answered(await ask(run, { event: 'run_started', specVersion: 3 }, {}, world));
      expect(started.events?.map(({ eventId: id }) => id)).toEqual(
        Array.from({ length: 42 }, (_, at) => slotId(eventId(at + 1))),
      );
    }
  });
});

describe('a list with many values of the log', () => {
  const large = inline({ $bytes: 'A'.repeat(8_000) });
  type Listed = { readonly data: readonly JsonObject[]; readonly cursor: string | null; readonly hasMore: boolean };
  /** All entries by their names, and the bytes of each answer. */
  async function pagesOf(list: (cursor: string | undefined) => Promise<WorldResult<Listed>>, name: string) {
    const names: unknown[] = [];
    const bytes: number[] = [];
    for (let cursor: string | undefined; ;) {
      const page = answered(await list(cursor));
      names.push(...page.data.map((entry) => entry[name]));
      bytes.push(JSON.stringify(page).length);
      if (!page.hasMore) return { names, bytes };
      cursor = page.cursor ?? undefined;
    }
  }

  test.each(['asc', 'desc'] as const)('of steps has them all, in pages that an answer can hold, %s', async (sortOrder) => {
    const { start, world } = await createDevKitEnv();
    const run = await start();
    const ids = Array.from({ length: 300 }, (_, index) => `step_${index}`);
    for (let first = 0; first < ids.length; first += 20)
      for (const requests of [
        ids.slice(first, first + 20).map((id) => ({ ...step(id), payload: large })),
        ids.slice(first, first + 20).map((id) => ({ ...completed(id), payload: large })),
      ])
        answered(await createWorldBatch(world, { run, requests, resolveData: 'none' }));
    const list = (cursor: string | undefined) =>
      listSteps(world, scope, run.runId, { sortOrder, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }, 'all');
    const { names, bytes } = await pagesOf(list, 'stepId');
    expect(names).toEqual(sortOrder === 'asc' ? ids : ids.toReversed());
    expect(Math.max(...bytes)).toBeLessThan(3_500_000);
    expect(bytes.length).toBe(2);
  });

  test('of hooks has them all, in pages that an answer can hold', async () => {
    const { ask, start, world } = await createDevKitEnv();
    const run = await start();
    const ids = Array.from({ length: 450 }, (_, index) => `hook_${index}`);
    for (const id of ids) answered(await ask(run, { ...hook(`token-${id}`, id), payload: large }, { resolveData: 'none' }));
    const list = (cursor: string | undefined) =>
      listHooks(world, scope, run.runId, { sortOrder: 'asc', limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }, 'all');
    const { names, bytes } = await pagesOf(list, 'hookId');
    expect(names).toEqual(ids);
    expect(Math.max(...bytes)).toBeLessThan(3_500_000);
  });
});

describe('a list of the hooks of all open runs', () => {
  const large = inline({ $bytes: 'A'.repeat(8_000) });
  type Options = { readonly limit?: number; readonly cursor?: string };

  /** Open runs, each with as many hooks. @returns the ids of their hooks in the order of the list */
  async function openRuns(devKit: DevKitEnv, runs: number, hooks: number): Promise<readonly string[]> {
    const names: string[][] = [];
    for (let index = 0; index < runs; index += 1) {
      const run = await devKit.start();
      const ids = Array.from({ length: hooks }, (_, at) => `hook_${index}.${at}`);
      for (const id of ids)
        answered(await devKit.ask(run, { ...hook(`token-${id}`, id), payload: large }, { resolveData: 'none' }));
      names.unshift(ids.toReversed());
      devKit.env.ports.clock.advance(durationMs(1));
    }
    return names.flat();
  }
  const page = async ({ world }: DevKitEnv, options: Options) =>
    answered(await listHooks(world, scope, undefined, options, 'all'));
  const named = (data: readonly JsonObject[]): unknown[] => data.map(({ hookId }) => hookId);

  async function pages(devKit: DevKitEnv, options: Options) {
    const found: (readonly JsonObject[])[] = [];
    for (let cursor: string | undefined; ;) {
      const { data, hasMore, cursor: last } = await page(devKit, { ...options, ...(cursor === undefined ? {} : { cursor }) });
      found.push(data);
      if (!hasMore) return found;
      cursor = last ?? undefined;
    }
  }

  test('has them all, in pages that an answer can hold', async () => {
    const devKit = await createDevKitEnv();
    const names = await openRuns(devKit, 4, 120);
    const found = await pages(devKit, { limit: 1_000 });
    expect(named(found.flat())).toEqual(names);
    expect(Math.max(...found.map((each) => JSON.stringify(each).length))).toBeLessThan(3_500_000);
    expect(found).toHaveLength(2);
  });

  test('has at most as many in a page as were asked for, also within a run', async () => {
    const devKit = await createDevKitEnv();
    const names = await openRuns(devKit, 3, 5);
    const found = await pages(devKit, { limit: 4 });
    expect(named(found.flat())).toEqual(names);
    expect(found.map(({ length }) => length)).toEqual([4, 4, 4, 3]);
  });

  test('continues after a hook that has ended since, alone or with its run', async () => {
    const devKit = await createDevKitEnv();
    const names = await openRuns(devKit, 2, 3);
    const first = await page(devKit, { limit: 1 });
    const [{ runId: id, hookId } = {}] = z.array(z.looseObject({ runId: z.string(), hookId: z.string() })).parse(first.data);
    const run = { ...scope, runId: toRunId(id ?? '') };
    await devKit.ask(run, { event: 'hook_disposed', ...(hookId === undefined ? {} : { correlationId: hookId }) });
    const options = { limit: 2, cursor: first.cursor ?? '' };
    expect(named((await page(devKit, options)).data)).toEqual(names.slice(1, 3));
    await devKit.ask(run, { event: 'run_completed', payload: bytes });
    expect(named((await page(devKit, options)).data)).toEqual(names.slice(3, 5));
  });

  test('refuses a cursor of another list', async () => {
    const { world } = await createDevKitEnv();
    for (const cursor of ['evnt_1', '.hook', '1'])
      expect(await listHooks(world, scope, undefined, { cursor }, 'all')).toMatchObject({ code: 'cursor_invalid' });
  });
});

describe('a list of events', () => {
  test('continues from a cursor in both directions, and refuses a wrong one', async () => {
    const { ask, start, world } = await createDevKitEnv();
    const run = await start();
    for (let index = 0; index < 5; index += 1) await ask(run, lazyStart(`step_${index}`));
    const page = (pagination: Parameters<typeof listEvents>[2]) =>
      onRun(world, scope, run.runId, (fold) => listEvents(world.deps, fold, pagination, 'none'));
    const first = answered(await page({ limit: 5 }));
    expect(first).toMatchObject({ hasMore: true, cursor: slotId(eventId(5)) });
    const rest = answered(await page({ limit: 100, cursor: first.cursor ?? '' }));
    expect(rest.data).toHaveLength(7);
    expect(rest).toMatchObject({ hasMore: false, cursor: slotId(eventId(12)) });
    // A stale cursor at the end stays where it is.
    expect(answered(await page({ cursor: rest.cursor ?? '' }))).toEqual({
      data: [],
      cursor: slotId(eventId(12)),
      hasMore: false,
    });
    const last = answered(await page({ limit: 2, sortOrder: 'desc' }));
    expect(last.data.map(({ eventId: id }) => id)).toEqual([slotId(eventId(12)), slotId(eventId(11))]);
    expect(answered(await page({ limit: 2, sortOrder: 'desc', cursor: last.cursor ?? '' })).data[0]).toMatchObject({
      eventId: slotId(eventId(10)),
    });
    expect(await page({ cursor: 'evnt_12' })).toMatchObject({ code: 'cursor_invalid' });
  });

  test.for([
    ['a short log', 6, [3, 4], 1],
    ['a log that is read in windows, whose last commit has no event', 1_200, [3, 101], 100],
  ] as const)('has the events after each position where commits have no event: %s', async ([, steps, empty, limit]) => {
    const { ask, start, world, env } = await createDevKitEnv();
    const run = await start();
    for (let count = 0; count < steps;) {
      const fold = await env.fold(run);
      const { asOf, nextEventId } = fold.state;
      // The commit that closes the claim of another run for a token.
      const closing = { ...fold.head.commit, number: commitNo(asOf + 1), firstEventId: nextEventId, events: [] };
      if (empty.some((number) => number === closing.number))
        await env.ports.log.put(run, { ...closing, nonce: env.deps.ids.nonce() }, fold.head.expiresAt);
      else {
        const left = Math.min(steps - count, (empty.find((number) => number > closing.number) ?? Infinity) - closing.number);
        for (let each = 0; each < left; each += 1, count += 1) await ask(run, step(`step_${count}`));
      }
    }
    const last = steps + 2;
    for (let after = 0; after < Math.min(last, 8); after += 1) {
      const page = answered(
        await onRun(world, scope, run.runId, (fold) => {
          // As of a process that began with a snapshot.
          fold.latest = undefined;
          return listEvents(world.deps, fold, { limit, ...(after === 0 ? {} : { cursor: slotId(eventId(after)) }) }, 'none');
        }),
      );
      const through = Math.min(last, after + limit);
      const expected = Array.from({ length: through - after }, (_none, index) => slotId(eventId(after + index + 1)));
      expect(
        page.data.map(({ eventId: id }) => id),
        `after ${after}`,
      ).toEqual(expected);
    }
  });

  test('of 20,000 events has them all, in pages', async () => {
    const { start, world } = await createDevKitEnv();
    const run = await start();
    for (let index = 0; index < 100; index += 1) {
      const requests = Array.from({ length: 100 }, (_, each) => [
        step(`step_${index}_${each}`),
        { event: 'step_started', correlationId: `step_${index}_${each}` } as const,
      ]).flat();
      for (const half of [requests.slice(0, 100), requests.slice(100)])
        answered(await createWorldBatch(world, { run, requests: half, resolveData: 'none' }));
    }
    let cursor: string | undefined;
    const ids: unknown[] = [];
    for (;;) {
      const next = answered(
        await onRun(world, scope, run.runId, (fold) =>
          listEvents(world.deps, fold, cursor === undefined ? {} : { cursor }, 'none'),
        ),
      );
      ids.push(...next.data.map(({ eventId: id }) => id));
      cursor = next.cursor ?? undefined;
      if (!next.hasMore) break;
    }
    expect(ids).toEqual(Array.from({ length: 20_002 }, (_, index) => slotId(eventId(index + 1))));
  });
});

describe('messages', () => {
  const flow = `__wkf_workflow_${workflowName}`;

  test('create the run that they carry, and then name it only', async () => {
    const { newRun, app, world, env, received } = await createDevKitEnv();
    const run = newRun();
    const runInput = { input: serialized, deploymentId: app, workflowName, specVersion: 5 };
    const message = { runId: run.runId, runInput };
    answered(await publishDevKitMessage(world, { scope, queueName: flow, message }, undefined));
    await env.settle();
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([{ runId: run.runId }]);
    expect(received[0]?.url).toBe('https://app.example.com/.well-known/workflow/v1/flow');
    expect(answered(await getRun(world, scope, run.runId, 'all'))).toMatchObject({ status: 'pending', input: serialized });
  });

  test('that fail come again with the next attempt; a requested delay is a new message', async () => {
    const { start, world, env, received, answerWith } = await createDevKitEnv();
    const run = await start();
    const head = await env.deps.log.head(run);
    if (head?.kind !== 'devkit') throw new Error('no run');
    let calls = 0;
    answerWith(() => {
      calls += 1;
      if (calls <= 2) return { kind: 'responded', status: 500, body: undefined };
      return { kind: 'responded', status: 200, body: calls === 3 ? { timeoutSeconds: 60 } : { ok: true } };
    });
    answered(await publishDevKitMessage(world, { scope, queueName: flow, message: { runId: run.runId } }, head));
    for (let rounds = 0; rounds < 10 && calls < 4; rounds += 1) {
      await env.settle();
      env.ports.clock.advance(minutes(1));
    }
    const attempts = received.map(({ headers }) => [headers['x-vqs-message-attempt'], headers['x-vqs-message-id']]);
    expect(attempts.map(([attempt]) => attempt)).toEqual(['1', '2', '3', '1']);
    expect(new Set(attempts.slice(0, 3).map(([, id]) => id)).size).toBe(1);
    expect(attempts[3]?.[1]).not.toBe(attempts[0]?.[1]);
  });

  test('that no application accepts end their run after sixty attempts', async () => {
    const { start, world, env, received, answerWith } = await createDevKitEnv();
    const run = await start();
    const head = await env.deps.log.head(run);
    if (head?.kind !== 'devkit') throw new Error('no run');
    answerWith(() => ({ kind: 'failed', reason: 'connection refused' }));
    answered(await publishDevKitMessage(world, { scope, queueName: flow, message: { runId: run.runId } }, head));
    for (let rounds = 0; rounds < 2_000 && (await env.fold(run)).state.progress.status === 'running'; rounds += 1) {
      await env.settle();
      env.ports.clock.advance(minutes(15));
    }
    expect(received).toHaveLength(60);
    expect((await env.fold(run)).state.devkit?.run).toMatchObject({ errorCode: 'undeliverable' });
  });

  test('above 200 KB wait in the bucket, and arrive whole', async () => {
    const { start, world, env, received } = await createDevKitEnv();
    const run = await start();
    const head = await env.deps.log.head(run);
    if (head?.kind !== 'devkit') throw new Error('no run');
    const message = { runId: run.runId, stepInput: { $bytes: Buffer.alloc(300_000, 1).toString('base64') } };
    answered(await publishDevKitMessage(world, { scope, queueName: flow, message }, head));
    expect(env.ports.jobs.devKitMessages[0]?.message).toMatchObject({ bytes: expect.any(Number) });
    await env.settle();
    expect(JSON.parse(received[0]?.body ?? '')).toEqual(message);
  });

  test('that were lost are replaced by the sweep, at the time of the wait and not before', async () => {
    const { ask, start, env, received } = await createDevKitEnv();
    const run = await start();
    const { clock } = env.ports;
    await ask(run, { event: 'wait_created', correlationId: 'wait_1', until: after(clock.now(), days(30)) });
    clock.advance(hours(2));
    await sweepRun(env.worker, run);
    await env.settle();
    expect(received).toEqual([]);
    clock.advance(days(30));
    await sweepRun(env.worker, run);
    await env.settle();
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([{ runId: run.runId }]);
    // The run still has its time: the deadline moved with the wait.
    expect((await env.fold(run)).state.progress.status).toBe('running');
    await sweepRun(env.worker, run);
    await env.settle();
    expect(received).toHaveLength(1);
  });
});

describe('the queue of an app with a namespace', () => {
  const started = async () => {
    const { ask, env, received } = await createDevKitEnv();
    const registration = { baseUrl: 'https://shop.example.com/', queueNamespace: 'shop' };
    const { deploymentId: app } = answered(await registerApp(env.deps, scope, registration));
    const run = { ...scope, runId: env.deps.ids.runId(env.deps.clock.now()) };
    answered(await ask(run, creation(app)));
    return { run, env, queues: () => received.map(({ headers }) => headers['x-vqs-queue-name']) };
  };
  const queue = '__shop_wkf_workflow_workflow//./workflows/order//processOrder';

  test('gets what the sweep and a resume send', async () => {
    const { run, env, queues } = await started();
    env.ports.clock.advance(minutes(10));
    await sweepRun(env.worker, run);
    await env.settle();
    expect(queues()).toEqual([queue]);
    await resumeRun(env.worker, run, {});
    await env.settle();
    expect(queues()).toEqual([queue, queue]);
  });

  test('is that of the first registration for a run, and a rerun gets the present one', async () => {
    const { run, env, queues } = await started();
    answered(await registerApp(env.deps, scope, { baseUrl: 'https://shop.example.com' }));
    await resumeRun(env.worker, run, {});
    await env.settle();
    await rerunRun(env.worker, { sourceRun: run, idempotencyKey: 'r1', bodyHash: 'h' });
    await env.settle();
    expect([...new Set(queues())]).toEqual([queue, queue.replace('__shop_', '__')]);
  });
});

describe('requests of operators', () => {
  test.each(['pending', 'running', 'waiting'] as const)(
    'a %s run is cancelled, and a later completion is refused',
    async (state) => {
      const { ask, newRun, app, world, env, start } = await createDevKitEnv();
      const run = state === 'pending' ? newRun() : await start();
      if (state === 'pending') await ask(run, creation(app));
      if (state === 'waiting') await ask(run, hook('order'));
      expect(await cancelRun(env.worker, run, 'not needed')).toEqual({ kind: 'cancelled' });
      expect(await ask(run, { event: 'run_completed', payload: bytes })).toMatchObject(conflict);
      expect(answered(await ask(run, { event: 'run_cancelled' })).run).toMatchObject({ status: 'cancelled' });
      expect(answered(await getRun(world, scope, run.runId, 'all'))).toMatchObject({ status: 'cancelled' });
      expect(await cancelRun(env.worker, run)).toEqual({ kind: 'cancelled' });
    },
  );

  test('an ended run is not cancelled', async () => {
    const { ask, start, env } = await createDevKitEnv();
    const run = await start();
    await ask(run, { event: 'run_completed', payload: bytes });
    expect(await cancelRun(env.worker, run)).toEqual({ kind: 'run_terminal', status: 'completed' });
  });

  test('a rerun has the same input, and is started by the platform', async () => {
    const { ask, start, env, world, received } = await createDevKitEnv();
    const run = await start();
    await ask(run, { event: 'run_failed', payload: bytes, data: { errorCode: 'USER_ERROR' } });
    const again = await rerunRun(env.worker, { sourceRun: run, idempotencyKey: 'k', bodyHash: 'h' });
    if (again.kind !== 'started') throw new Error(again.kind);
    expect(answered(await getRun(world, scope, again.runId, 'all'))).toMatchObject({
      status: 'pending',
      input: serialized,
      workflowName,
    });
    await env.settle();
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([{ runId: again.runId }]);
  });

  test('a resumption makes the code read its log', async () => {
    const { start, env } = await createDevKitEnv();
    const run = await start();
    expect(await resumeRun(env.worker, run, {})).toMatchObject({ kind: 'resumed' });
    expect(env.ports.jobs.takeDevKitMessages()).toMatchObject([{ message: { value: { runId: run.runId } }, attempt: 1 }]);
  });

  test('a run past its deadline has failed, and its writers learn it', async () => {
    const { ask, start, env, world } = await createDevKitEnv();
    const run = await start();
    env.ports.clock.advance(days(8));
    expect(await ask(run, lazyStart())).toMatchObject(conflict);
    expect(answered(await getRun(world, scope, run.runId, 'all'))).toMatchObject({
      status: 'failed',
      errorCode: 'deadline_exceeded',
    });
  });
});
