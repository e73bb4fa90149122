/** Crashes and delays between the calls of one request, as the simulation found them. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, commitNo } from '../../lib/engine/ids.ts';
import { after, days, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { type DevKitEnv, answered, bytes, createDevKitEnv, hook, step } from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { scope } from './test-env.ts';

describe('a hook that was refused for its token', () => {
  test('stays refused when the token is free, and claims nothing', async () => {
    const { ask, start, other, env } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    await ask(one, hook('order'));
    const first = answered(await ask(two, hook('order')));
    answered(await ask(one, { event: 'hook_disposed', correlationId: 'hook_1' }));
    const again = answered(await ask(two, hook('order'), {}, other()));
    expect(again.event).toEqual(first.event);
    expect(again.event).toMatchObject({ eventType: 'hook_conflict' });
    expect(await env.deps.hookTokens.find(scope, 'order')).toBeUndefined();
  });

  test('is an unread event: the sweep sends a lost message again', async () => {
    const { ask, start, env, received } = await createDevKitEnv();
    const [one, two] = [await start(), await start()];
    await ask(one, hook('order'));
    await ask(two, hook('order'));
    env.ports.clock.advance(minutes(3));
    await sweepRun(env.worker, two);
    await env.settle();
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([{ runId: two.runId }]);
  });
});

test('a run with nothing open is checked again within minutes, not at its deadline', async () => {
  const marked: number[] = [];
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    index: overrideMethods(deps.index, {
      markDue: async (entry) => {
        marked.push(entry.minute * 60_000);
        return deps.index.markDue(entry);
      },
    }),
  });
  const { start, env } = await createDevKitEnv({ wrap });
  const run = await start();
  env.ports.clock.advance(minutes(3));
  await sweepRun(env.worker, run);
  expect((marked.at(-1) ?? 0) - env.ports.clock.now()).toBeLessThanOrEqual(minutes(10));
});

describe('a claim of a token', () => {
  /** Its hook is `meanwhile` after the claim and before the commit, as a process that freezes between both. */
  async function frozenBetween(meanwhile: (env: DevKitEnv, run: RunAddress) => Promise<void>): Promise<string> {
    let freeze = async (): Promise<void> => undefined;
    const wrap = (deps: Deps): Deps => ({
      ...deps,
      log: overrideMethods(deps.log, {
        put: async (run, commit, expiresAt) => {
          const isHook = commit.events.some((event) => event.type === 'DEVKIT' && event.event === 'hook_created');
          const frozen = freeze;
          if (isHook) {
            freeze = async () => undefined;
            await frozen();
          }
          return deps.log.put(run, commit, expiresAt);
        },
      }),
    });
    const created = await createDevKitEnv({ wrap });
    const run = await created.start();
    freeze = () => meanwhile(created, run);
    return eventTypeOf(await created.ask(run, hook('order')));
  }
  const eventTypeOf = (result: Awaited<ReturnType<DevKitEnv['ask']>>): string =>
    result.kind === 'answered' ? JSON.stringify(result.value.event?.['eventType']) : result.code;

  test.each([0, 1, 60 * 24])('whose process froze for %i minutes loses to another hook of the token', async (frozenMinutes) => {
    const others: string[] = [];
    const first = await frozenBetween(async ({ ask, start, other, env: { ports } }) => {
      ports.clock.advance(minutes(frozenMinutes));
      const two = await start();
      let isDone = false;
      const asking = ask(two, hook('order'), {}, other()).finally(() => void (isDone = true));
      while (!isDone) {
        await new Promise((resolve) => void setImmediate(resolve));
        ports.clock.advance(seconds(0.1));
      }
      others.push(eventTypeOf(await asking));
    });
    expect([first, others]).toEqual(['"hook_conflict"', ['"hook_created"']]);
  });

  test('whose process froze for a day holds if no other hook asked for the token', async () => {
    expect(await frozenBetween(async ({ env: { ports } }) => ports.clock.advance(days(1)))).toBe('"hook_created"');
  });

  test('moves with its event when another event takes the commit number', async () => {
    const others: string[] = [];
    const first = await frozenBetween(async ({ ask, other }, run) => {
      others.push(eventTypeOf(await ask(run, step('step_1'), {}, other())));
    });
    expect([first, others]).toEqual(['"hook_created"', ['"step_created"']]);
  });

  test('does not move back for a request that has read less of the log', async () => {
    const moves: (readonly [from: number, to: number])[] = [];
    const wrap = (deps: Deps): Deps => ({
      ...deps,
      hookTokens: overrideMethods(deps.hookTokens, {
        replace: async (of, token, from, to, expiresAt) => {
          moves.push([from.commitNo, to.commitNo]);
          return deps.hookTokens.replace(of, token, from, to, expiresAt);
        },
      }),
    });
    const { ask, start, other, env } = await createDevKitEnv({ wrap });
    const run = await start();
    await ask(run, step('step_1'), {}, other());
    // Another function has read that step, and its request for the hook is on its way.
    const ahead = { runId: run.runId, hookId: 'hook_1', nonce: env.deps.ids.nonce(), commitNo: commitNo(4) };
    await env.deps.hookTokens.claim(scope, 'order', ahead, after(env.deps.clock.now(), days(1)));
    expect(answered(await ask(run, hook('order'))).event).toMatchObject({ eventId: 'evnt_00000000000000000000000004' });
    expect(moves).toEqual([]);
  });

  test('of two requests for one hook leads to one hook', async () => {
    const others: string[] = [];
    const first = await frozenBetween(async ({ ask, other }, run) => {
      others.push(eventTypeOf(await ask(run, hook('order'), {}, other())));
    });
    expect([others, first]).toEqual([['"hook_created"'], 'entity_conflict']);
  });
});

describe('an end whose effects a crash cut off', () => {
  test.each([{ event: 'run_started' }, { event: 'run_completed', payload: bytes }] as const)(
    'is completed by the next $event',
    async (request) => {
      let crash = (): void => undefined;
      const wrap = (deps: Deps): Deps => ({
        ...deps,
        log: overrideMethods(deps.log, {
          project: async (...given) => {
            crash();
            return deps.log.project(...given);
          },
        }),
      });
      const { ask, start, other, env } = await createDevKitEnv({ wrap });
      const run = await start();
      crash = () => {
        throw new Unavailable('the log');
      };
      await expect(ask(run, { event: 'run_completed', payload: bytes })).rejects.toThrow('not available');
      crash = () => undefined;
      expect((await env.deps.log.head(run))?.projection.status).not.toBe('completed');
      expect((await ask(run, request, {}, other())).kind).toBe('refused');
      expect((await env.deps.log.head(run))?.projection.status).toBe('completed');
    },
  );
});
