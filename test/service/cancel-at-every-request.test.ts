/** Cancels a run before each port call of its execution, one call per execution, so that every point is covered. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { minutes } from '../../lib/engine/time.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { type TestEnv, failing, finished, createTestEnv, scope, workflow } from './test-env.ts';

const rich = workflow('flow', 'a>b a>g b>f g>f f>z z>s s>l l/loop>h l/done>k k>c c/left>e', {
  f: { joinMode: 'all' },
  z: { ms: 60_000 },
  s: { name: 'paid', correlation: 'one' },
  l: { items: 2, concurrency: 2 },
  k: { calls: 'child' },
});

/** Ports without side effects. */
const portsWithoutEffects: ReadonlySet<string> = new Set(['clock', 'ids', 'settings', 'metrics']);

/** The ports, with a callback before every call. */
function watched(deps: Deps, asked: () => Promise<void>): Deps {
  const reach = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]): Promise<unknown> => {
          await asked();
          return Reflect.apply(member, target, given);
        };
      },
    });
  return new Proxy(deps, {
    get: (target, name) => {
      const port: unknown = Reflect.get(target, name);
      return typeof port === 'object' && port !== null && typeof name === 'string' && !portsWithoutEffects.has(name)
        ? reach(port)
        : port;
    },
  });
}

/** Runs a run to its end, and cancels it before the call of this number. @returns the number of calls */
async function runAndCancelBefore(
  cancelBefore?: number,
): Promise<{ readonly env: TestEnv; readonly run: RunAddress; readonly requests: number }> {
  let requests = 0;
  let run: RunAddress | undefined;
  const env: TestEnv = createTestEnv({
    answer: (node, number) => (node === 'g' && number === 1 ? failing() : finished(node)),
    wrap: (deps) =>
      watched(deps, async () => {
        if (run === undefined) return;
        requests += 1;
        if (requests === cancelBefore) await cancelRun({ ...env.worker, deps }, run, 'enough');
      }),
  });
  await env.publish(rich);
  await env.publish(workflow('child', 'x>z z>y', { z: { ms: 600_000 } }));
  // Buffered until its wait begins.
  await sendSignal(env.worker, scope, { name: 'paid', correlation: 'one', payload: null, bodyHash: 'h', idempotencyKey: 'one' });
  run = await env.begin('flow');
  await env.settle();
  env.ports.clock.advance(minutes(10));
  await env.settle();
  return { env, run, requests };
}

describe('a cancel at any point', () => {
  it('ends the run, or finds it ended; no node stays open, and nothing is decided afterwards', async () => {
    const { env: uncancelledEnv, run: whole, requests } = await runAndCancelBefore();
    expect((await uncancelledEnv.fold(whole)).state.progress.status).toBe('completed');
    expect(requests).toBeGreaterThan(50);
    const ends = new Map<string, number>();
    let children = 0;
    for (let before = 1; before <= requests; before += 1) {
      const { env, run } = await runAndCancelBefore(before);
      const { state } = await env.fold(run);
      const { status } = state.progress;
      ends.set(status, (ends.get(status) ?? 0) + 1);
      const where = `cancelled before request ${before}`;
      expect(isTerminal(state.progress), where).toBe(true);
      expect([...state.open.keys()], where).toEqual([]);
      expect((await env.ports.log.head(run))?.projection.status, where).toBe(status);
      const head = await env.ports.log.head(run);
      const commits = head === undefined ? [] : [head.commit, ...(await env.ports.log.commitsAfter(run, firstCommit))];
      const types = commits.flatMap(({ events }) => events.map(({ type }) => type));
      const { heads } = await env.ports.index.list(scope, { limit: 10 });
      for (const { address } of heads.filter((other) => other.address.runId !== run.runId)) {
        children += 1;
        const { status: childStatus } = (await env.fold(address)).state.progress;
        const endedAt = (await env.ports.log.commitsAfter(address, firstCommit)).at(-1)?.at ?? 0;
        // The child sleeps for ten minutes: an abandoned one would end long after its caller.
        if (childStatus !== 'cancelled') expect(endedAt, where).toBeLessThanOrEqual(commits.at(-1)?.at ?? 0);
        expect((await env.ports.log.head(address))?.projection.status, where).toBe(childStatus);
      }
      if (status === 'cancelled')
        expect(
          types.filter((type) => type === 'RUN_CANCELLED'),
          where,
        ).toHaveLength(1);
    }
    expect(ends.get('cancelled')).toBeGreaterThan(requests / 2);
    expect(children).toBeGreaterThan(5);
  });
});
