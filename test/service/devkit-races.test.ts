/** Crashes and delays between the calls of one request, as the simulation found them. */
import { describe, expect, test } from 'vitest';
import { after, days, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { answered, bytes, createDevKitEnv, hook } from './devkit-test-env.ts';
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
  test('that a crashed request left is renewed, so that no other hook takes it before the event', async () => {
    const outcomes: string[] = [];
    let interfere = async (): Promise<void> => undefined;
    const wrap = (deps: Deps): Deps => ({
      ...deps,
      log: overrideMethods(deps.log, {
        put: async (run, commit, expiresAt) => {
          const isHook = commit.events.some((event) => event.type === 'DEVKIT' && event.event === 'hook_created');
          const [first, second] = [interfere, async (): Promise<void> => undefined];
          if (isHook) {
            interfere = second;
            await first();
          }
          return deps.log.put(run, commit, expiresAt);
        },
      }),
    });
    const { ask, start, other, env } = await createDevKitEnv({ wrap });
    const [one, two] = [await start(), await start()];
    const { deps, ports } = env;
    const claim = { runId: one.runId, hookId: 'hook_1', nonce: deps.ids.nonce(), claimedAt: deps.clock.now() };
    await deps.hookTokens.claim(scope, 'order', claim, after(deps.clock.now(), days(1)));
    ports.clock.advance(seconds(61));
    const outcomeOf = (result: Awaited<ReturnType<typeof ask>>): string =>
      result.kind === 'answered' ? JSON.stringify(result.value.event?.['eventType']) : result.code;
    interfere = async () => {
      let isDone = false;
      const asking = ask(two, hook('order'), {}, other()).finally(() => void (isDone = true));
      while (!isDone) {
        await new Promise((resolve) => void setImmediate(resolve));
        ports.clock.advance(seconds(0.1));
      }
      outcomes.push(outcomeOf(await asking));
    };
    outcomes.push(outcomeOf(await ask(one, hook('order'))));
    expect(outcomes).toEqual(['unavailable', '"hook_created"']);
  });

  test('does not outlive a request that takes too long', async () => {
    let delay = (): void => undefined;
    const wrap = (deps: Deps): Deps => ({
      ...deps,
      hookTokens: overrideMethods(deps.hookTokens, {
        nameHook: async (...given) => {
          delay();
          return deps.hookTokens.nameHook(...given);
        },
      }),
    });
    const { ask, start, env } = await createDevKitEnv({ wrap });
    const run = await start();
    delay = () => env.ports.clock.advance(seconds(31));
    expect(await ask(run, hook('order'))).toMatchObject({ kind: 'refused', code: 'unavailable' });
    delay = () => undefined;
    expect(answered(await ask(run, hook('order'))).event).toMatchObject({ eventType: 'hook_created' });
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
