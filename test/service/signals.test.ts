import { describe, expect, it } from 'vitest';
import { type RunAddress, environment, runId, signalId } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { type SignalRequest, sendSignal, sendToRun } from '../../lib/service/runs/send-signal.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { beforeClaimedStore } from './before-claimed-store.ts';
import { overrideMethods } from './override-methods.ts';

const place = { name: 'paid', correlation: 'order-7' };
const here = { ...scope, ...place };

const waiting = async (env: TestEnv, name = 'flow', config: object = {}): Promise<RunAddress> => {
  await env.publish(workflow(name, 'a>s s>b', { s: { ...place, ...config } }));
  const run = await env.begin(name);
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  return run;
};

const send = (env: TestEnv, facts: Partial<SignalRequest> = {}, to = place) => {
  const hash = JSON.stringify([facts.payload, facts.name]);
  return sendSignal(env.worker, scope, { payload: null, bodyHash: hash, ...to, ...facts });
};
const finish = async (env: TestEnv): Promise<void> => {
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
};
const statusOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress.status;
const outputOf = async (env: TestEnv, run: RunAddress) => {
  const events = await env.ports.log.commitsAfter(run, (await env.fold(run)).head.commit.number);
  const ended = events
    .flatMap((commit) => commit.events)
    .find((event) => event.type === 'NODE_COMPLETED' && event.nodeId === 's');
  return ended?.type === 'NODE_COMPLETED' && 'value' in ended.output ? ended.output.value : undefined;
};

describe('a signal', () => {
  it('sent to a wait is delivered at once with its payload, and leaves no items', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    expect((await env.ports.signals.read(here)).waiters).toHaveLength(1);
    const sent = await send(env, { payload: { amount: 3 } });
    expect(sent).toMatchObject({ kind: 'sent', isDelivered: true, runIds: [run.runId], isReplay: false });
    expect(await outputOf(env, run)).toMatchObject({ ...place, payload: { amount: 3 } });
    await finish(env);
    expect(await statusOf(env, run)).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1']);
    expect(await env.ports.signals.read(here)).toMatchObject({ waiters: [], signals: [{ state: 'taken', by: run.runId }] });
  });

  it('sent before its wait is buffered, and delivered to the first wait', async () => {
    const env = createTestEnv();
    expect(await send(env, { payload: 'early' })).toMatchObject({ isDelivered: false, runIds: [] });
    env.ports.clock.advance(hours(23));
    const run = await waiting(env);
    await finish(env);
    expect([await statusOf(env, run), await outputOf(env, run)]).toMatchObject(['completed', { payload: 'early' }]);
    const next = await waiting(env, 'next');
    expect(await statusOf(env, next)).toBe('running');
  });

  it('is buffered for the requested time, by default for a day', async () => {
    const env = createTestEnv();
    await send(env, { expiresIn: seconds(60), payload: 'short' });
    await send(env, { payload: 'day' });
    await send(env, { expiresIn: days(30), payload: 'month' });
    env.ports.clock.advance(hours(24));
    const [one, two] = [await waiting(env), await waiting(env, 'next')];
    expect([await outputOf(env, one), await outputOf(env, two)]).toMatchObject([{ payload: 'month' }, undefined]);
  });

  it('goes to the oldest wait, and the oldest signal goes first', async () => {
    const env = createTestEnv();
    const runs: RunAddress[] = [];
    for (const name of ['one', 'two']) {
      runs.push(await waiting(env, name));
      env.ports.clock.advance(seconds(1));
    }
    for (const payload of ['first', 'second', 'third']) {
      await send(env, { payload });
      env.ports.clock.advance(seconds(1));
    }
    runs.push(await waiting(env, 'three'));
    const outputs = await Promise.all(runs.map((run) => outputOf(env, run)));
    expect(outputs).toMatchObject([{ payload: 'first' }, { payload: 'second' }, { payload: 'third' }]);
  });

  it('of another name, correlation or environment reaches no wait', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    for (const to of [
      { ...place, name: 'refunded' },
      { ...place, correlation: 'order-8' },
    ])
      expect(await send(env, {}, to)).toMatchObject({ isDelivered: false });
    const elsewhere = { ...scope, environment: environment('staging') };
    const other = await sendSignal(env.worker, elsewhere, { ...place, payload: null, bodyHash: 'h' });
    expect(other).toMatchObject({ isDelivered: false });
    expect(await statusOf(env, run)).toBe('running');
  });

  it('is not delivered to a run that no longer waits, even if its waiter item remains, but to the next', async () => {
    const env = createTestEnv();
    const over = await waiting(env, 'over');
    env.ports.clock.advance(seconds(1));
    const next = await waiting(env, 'next');
    const [stale] = (await env.ports.signals.read(here)).waiters;
    if (stale === undefined) throw new Error('there is no waiter');
    await cancelRun(env.worker, over);
    const gone = { ...stale, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
    for (const entry of [stale, gone]) await env.ports.signals.addWaiter(here, entry, after(stale.since, days(9)));
    expect(await send(env)).toMatchObject({ isDelivered: true });
    expect(await outputOf(env, next)).toMatchObject(place);
    expect((await env.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('is stored as claimed for the wait that its sender found, with no claim of its own', async () => {
    const calls: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        signals: overrideMethods(deps.signals, {
          store: async (...stored) => {
            calls.push('store');
            await deps.signals.store(...stored);
          },
          storeClaimed: async (...stored) => {
            calls.push('storeClaimed');
            return deps.signals.storeClaimed(...stored);
          },
          claim: async (...claimed) => {
            calls.push('claim');
            return deps.signals.claim(...claimed);
          },
        }),
      }),
    });
    await send(env, { payload: 'no run waits' });
    const first = await waiting(env);
    const second = await waiting(env, 'next');
    expect(calls.splice(0)).toEqual(['store', 'claim']);
    expect(await send(env, { payload: 'a run waits' })).toMatchObject({ isDelivered: true, runIds: [second.runId] });
    expect(calls).toEqual(['storeClaimed']);
    expect(await outputOf(env, first)).toMatchObject({ payload: 'no run waits' });
    expect(await outputOf(env, second)).toMatchObject({ payload: 'a run waits' });
  });

  it('whose wait ends before it is stored goes to the next wait, or is buffered', async () => {
    for (const hasNext of [true, false]) {
      const env = createTestEnv({ wrap: beforeClaimedStore(() => cancelRun(env.worker, over)) });
      const over = await waiting(env, 'over');
      env.ports.clock.advance(seconds(1));
      const next = hasNext ? await waiting(env, 'next') : undefined;
      const sent = await send(env, { payload: 'one' });
      expect(sent).toMatchObject({ isDelivered: hasNext, runIds: next === undefined ? [] : [next.runId] });
      const { waiters, signals } = await env.ports.signals.read(here);
      expect([waiters, signals.map(({ state }) => state)]).toEqual([[], [hasNext ? 'taken' : 'free']]);
      if (next !== undefined) expect(await outputOf(env, next)).toMatchObject({ payload: 'one' });
    }
  });

  it('whose due entry is refused is not committed, and the next sender delivers it', async () => {
    let isRefused = false;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            if (isRefused) throw new Unavailable('the index');
            return deps.index.markDue(entry);
          },
        }),
      }),
    });
    const run = await waiting(env);
    isRefused = true;
    await expect(send(env, { signalId: signalId('one'), payload: 'one' })).rejects.toThrow(Unavailable);
    expect((await env.ports.signals.read(here)).signals).toMatchObject([{ state: 'claimed', payload: 'one' }]);
    expect(await statusOf(env, run)).toBe('running');
    isRefused = false;
    expect(await send(env, { payload: 'two' })).toMatchObject({ isDelivered: false });
    expect(await outputOf(env, run)).toMatchObject({ payload: 'one' });
    expect(await send(env, { signalId: signalId('one'), payload: 'one' })).toMatchObject({ isDelivered: true, isReplay: true });
  });

  it('does not overtake a signal that is stored and that no process has matched yet', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    const now = env.ports.clock.now();
    const stored = { signalId: signalId('left'), payload: 'left', receivedAt: now, bufferedUntil: after(now, days(1)) };
    await env.ports.signals.store(here, { ...stored, retainUntil: after(now, days(3)) });
    env.ports.clock.advance(seconds(1));
    expect(await send(env, { payload: 'new' })).toMatchObject({ isDelivered: false });
    expect(await outputOf(env, run)).toMatchObject({ payload: 'left' });
  });

  it('with an id that is stored already is not delivered again', async () => {
    const env = createTestEnv();
    const first = await waiting(env);
    await send(env, { signalId: signalId('one'), payload: 'one' });
    env.ports.clock.advance(hours(25));
    const second = await waiting(env, 'next');
    // The key has expired, and the signal has not.
    const again = await send(env, { signalId: signalId('one'), payload: 'again' });
    expect(again).toMatchObject({ isReplay: false, isDelivered: true, runIds: [first.runId] });
    expect(await statusOf(env, second)).toBe('running');
  });

  it.each(['before it is stored', 'after it is stored'])(
    'that two processes match with different waits goes to one of them, if one of them reads %s and continues late',
    async (when) => {
      let late: (() => Promise<void>) | undefined;
      let isRefused = false;
      /** This process has read the key before the older wait was registered. */
      const continuesLate = async <Seen>(seen: Seen): Promise<Seen> => {
        const meanwhile = late;
        late = undefined;
        await meanwhile?.();
        return seen;
      };
      const env = createTestEnv({
        wrap: (deps) => ({
          ...deps,
          signals: overrideMethods(deps.signals, {
            readIfFew: async (asked) => {
              const seen = await deps.signals.readIfFew(asked);
              return when === 'before it is stored' ? continuesLate(seen) : seen;
            },
            read: async (asked) => continuesLate(await deps.signals.read(asked)),
            storeClaimed: async (...stored) => {
              if (isRefused) throw new Unavailable('the table');
              return deps.signals.storeClaimed(...stored);
            },
          }),
        }),
      });
      const once = { signalId: signalId('one'), payload: 'once' };
      const old = await waiting(env, 'old');
      const [entry] = (await env.ports.signals.read(here)).waiters;
      if (entry === undefined) throw new Error('there is no waiter');
      env.ports.clock.advance(seconds(1));
      const newer = await waiting(env, 'newer');
      await env.ports.signals.removeWaiter(here, entry);
      if (when === 'after it is stored') {
        // A repeated request stores the signal first, and reads then.
        isRefused = true;
        await expect(send(env, once)).rejects.toThrow(Unavailable);
        isRefused = false;
      }
      late = async () => {
        await env.ports.signals.addWaiter(here, entry, entry.since);
        await send(env, once);
      };
      await send(env, once);
      expect(late).toBeUndefined();
      expect([await outputOf(env, old), await outputOf(env, newer)]).toMatchObject([{ payload: 'once' }, undefined]);
    },
  );

  it('is no wake-up, and a wake-up is no signal', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'woken', nodeIds: [] });
    expect(await statusOf(env, run)).toBe('running');
  });
});

describe('a signal that is sent again', () => {
  it.each([
    ['by its own id', { signalId: signalId('mine') }],
    ['under its key', { idempotencyKey: 'mine' }],
    ['by both', { signalId: signalId('mine'), idempotencyKey: 'mine' }],
  ])('%s is one signal, with the same response', async (_how, names) => {
    const env = createTestEnv();
    const first = await send(env, { ...names, payload: 1 });
    expect(first).toMatchObject({ kind: 'sent', isDelivered: false, runIds: [], isReplay: false });
    const run = await waiting(env);
    expect(await outputOf(env, run)).toMatchObject({ payload: 1 });
    const next = await waiting(env, 'next');
    expect(await send(env, { ...names, payload: 1 })).toEqual({ ...first, isReplay: true });
    expect(await statusOf(env, next)).toBe('running');
    expect(await send(env, { ...names, payload: 2 })).toEqual({ kind: 'idempotency_conflict' });
    expect(await send(env, { ...names, payload: 3, name: 'refunded' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('names the run that received it', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    const names = { idempotencyKey: 'mine', payload: 1 };
    const first = await send(env, names);
    expect(first).toMatchObject({ isDelivered: true, runIds: [run.runId], isReplay: false });
    await finish(env);
    expect(await send(env, names)).toEqual({ ...first, isReplay: true });
  });

  it('without an id is another signal', async () => {
    const env = createTestEnv();
    for (const _time of [1, 2]) expect(await send(env, { payload: 1 })).toMatchObject({ isReplay: false });
    expect((await env.ports.signals.read(here)).signals).toHaveLength(2);
  });

  it('under a key whose id belongs to another signal leaves the key free', async () => {
    const env = createTestEnv();
    await send(env, { signalId: signalId('mine'), payload: 1 });
    const both = { signalId: signalId('mine'), idempotencyKey: 'key', payload: 2 };
    expect(await send(env, both)).toEqual({ kind: 'idempotency_conflict' });
    expect(await send(env, { idempotencyKey: 'key', payload: 3 })).toMatchObject({ kind: 'sent', isReplay: false });
  });
});

describe('a wait', () => {
  it('that times out fails its node and is removed, and a later signal is buffered', async () => {
    const env = createTestEnv();
    const run = await waiting(env, 'flow', { ms: 600_000 });
    await env.settle();
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'signal_expired' } });
    expect((await env.ports.signals.read(here)).waiters).toEqual([]);
    expect(await send(env)).toMatchObject({ isDelivered: false });
  });

  it('receives a signal whose sender crashed before the match, instead of a timeout', async () => {
    const env = createTestEnv();
    const run = await waiting(env, 'flow', { ms: 600_000 });
    const { clock } = env.ports;
    const kept = { signalId: signalId('s'), receivedAt: clock.now(), bufferedUntil: after(clock.now(), days(1)) };
    await env.ports.signals.store(here, { ...kept, payload: 'left behind', retainUntil: after(clock.now(), days(3)) });
    await env.settle();
    expect([await statusOf(env, run), await outputOf(env, run)]).toMatchObject(['completed', { payload: 'left behind' }]);
  });

  it('whose worker crashed before its registration receives a buffered signal, instead of a timeout', async () => {
    let isKilled = true;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        signals: overrideMethods(deps.signals, {
          addWaiter: async (...given) => {
            if (isKilled) throw new Error('killed here');
            return deps.signals.addWaiter(...given);
          },
        }),
      }),
    });
    await send(env, { payload: 'there before' });
    await expect(waiting(env, 'flow', { ms: 600_000 })).rejects.toThrow('killed here');
    isKilled = false;
    const [run] = (await env.ports.index.list(scope, { limit: 1 })).heads;
    if (run === undefined) throw new Error('there is no run');
    await env.settle();
    expect([await statusOf(env, run.address), await outputOf(env, run.address)]).toMatchObject([
      'completed',
      { payload: 'there before' },
    ]);
    expect((await env.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('longer than the queue’s maximum delay ends by a timer', async () => {
    const env = createTestEnv();
    const run = await waiting(env, 'flow', { ms: 7_200_000, continues: true });
    expect(env.ports.timers.pending()).toMatchObject([{ job: { kind: 'wake', nodeId: 's' } }]);
    await env.settle();
    expect([await statusOf(env, run), await outputOf(env, run)]).toMatchObject(['completed', { signalId: null }]);
  });

  it('of a cancelled run is removed', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    await cancelRun(env.worker, run);
    expect((await env.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('can begin in the first commit of a run', async () => {
    const env = createTestEnv();
    await send(env, { payload: 'early' });
    await env.publish(workflow('flow', 's>b', { s: place }));
    const run = await env.begin('flow');
    await finish(env);
    expect(await statusOf(env, run)).toBe('completed');
  });
});

describe('a wait whose first commit reaches the log after its expiry', () => {
  /**
   * A worker crashes while the put that begins its wait is in flight. The put reaches the log after the wait has expired, and while the
   * next worker with this message commits. A signal was accepted in time; only the wake-up and the recovery can deliver it.
   */
  it.each([
    ['the recovery registers the wait', 0],
    ['the recovery dies before it registers the wait, and the wake-up registers it', 1],
  ])('receives a signal that arrived in time: %s', async (_which, deaths) => {
    let late: (() => Promise<unknown>) | undefined;
    let registrationsToFail = 0;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            const [, commit] = given;
            if (!commit.events.some(({ type }) => type === 'SIGNAL_AWAITED')) return deps.log.put(...given);
            if (late === undefined) {
              late = () => deps.log.put(...given);
              throw new Error('crashed here, its put in flight');
            }
            await late();
            return deps.log.put(...given);
          },
        }),
        signals: overrideMethods(deps.signals, {
          addWaiter: async (...given) => {
            if ((registrationsToFail -= 1) >= 0) throw new Error('crashed before it registered the wait');
            return deps.signals.addWaiter(...given);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>s s>b', { s: { ...place, ms: 60_000 } }));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job)).rejects.toThrow('its put in flight');
    await send(env, { payload: 'in time' });
    env.ports.clock.advance(seconds(180));
    registrationsToFail = deaths;
    const redelivered = env.take(job, { isRedelivered: true });
    if (deaths === 0) await redelivered;
    else {
      await expect(redelivered).rejects.toThrow('crashed before it registered the wait');
      expect((await env.ports.signals.read(here)).waiters).toEqual([]);
      for (const wake of env.ports.jobs.takeDue()) if (wake.kind === 'wake') await env.take(wake);
    }
    expect(await outputOf(env, run)).toMatchObject({ payload: 'in time' });
  });
});

describe('a signal to a run', () => {
  const toRun = (env: TestEnv, run: RunAddress) => sendToRun(env.worker, run, { name: 'paid', payload: 1, bodyHash: 'h' });

  it('reaches a wait without a correlation', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>s s>b', { s: { name: 'paid' } }));
    const run = await env.begin('flow');
    expect(await toRun(env, run)).toMatchObject({ isDelivered: false });
    await finish(env);
    await finish(env);
    expect(await statusOf(env, run)).toBe('completed');
  });

  it('that has ended or does not exist is refused', async () => {
    const env = createTestEnv();
    const run = await waiting(env);
    await cancelRun(env.worker, run);
    expect(await toRun(env, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
    expect(await toRun(env, { ...run, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({ kind: 'not_found' });
    expect(await toRun(env, { ...run, environment: environment('staging') })).toEqual({ kind: 'not_found' });
  });
});

it('a run without signals makes no request to the signal store', async () => {
  const env = createTestEnv({
    wrap: (deps) => ({
      ...deps,
      signals: new Proxy(deps.signals, {
        get: (_port, name) => {
          throw new Error(`signals.${String(name)} was asked for`);
        },
      }),
    }),
  });
  await env.publish(workflow('flow', 'a>z z>b a>c', { z: { ms: minutes(5) } }));
  const run = await env.begin('flow');
  await env.settle();
  expect(await statusOf(env, run)).toBe('completed');
  await env.publish(workflow('other', 'a>z z>b', { z: { ms: minutes(5) } }));
  const other = await env.begin('other');
  await cancelRun(env.worker, other);
  expect(await statusOf(env, other)).toBe('cancelled');
});
