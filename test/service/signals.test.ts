import { describe, expect, it } from 'vitest';
import { type RunAddress, environment, runId, signalId } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes, seconds } from '../../lib/engine/time.ts';
import type { SignalsAtKey } from '../../lib/ports/signals.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { type SignalRequest, sendSignal, sendToRun } from '../../lib/service/runs/send-signal.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const place = { name: 'paid', correlation: 'order-7' };
const here = { ...scope, ...place };

const waiting = async (home: TestEnv, name = 'flow', config: object = {}): Promise<RunAddress> => {
  await home.publish(workflow(name, 'a>s s>b', { s: { ...place, ...config } }));
  const run = await home.begin(name);
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
  return run;
};

const send = (home: TestEnv, facts: Partial<SignalRequest> = {}, to = place) => {
  const hash = JSON.stringify([facts.payload, facts.name]);
  return sendSignal(home.worker, scope, { payload: null, bodyHash: hash, ...to, ...facts });
};
const finish = async (home: TestEnv): Promise<void> => {
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
};
const statusOf = async (home: TestEnv, run: RunAddress) => (await home.fold(run)).state.progress.status;
const outputOf = async (home: TestEnv, run: RunAddress) => {
  const events = await home.ports.log.commitsAfter(run, (await home.fold(run)).head.commit.number);
  const ended = events
    .flatMap((commit) => commit.events)
    .find((event) => event.type === 'NODE_COMPLETED' && event.nodeId === 's');
  return ended?.type === 'NODE_COMPLETED' && 'value' in ended.output ? ended.output.value : undefined;
};

describe('a signal', () => {
  it('that is sent to a wait is given at once, with what it brings, and nothing stays behind', async () => {
    const home = createTestEnv();
    const run = await waiting(home);
    expect((await home.ports.signals.read(here)).waiters).toHaveLength(1);
    expect(await send(home, { payload: { amount: 3 } })).toMatchObject({ kind: 'sent', isDelivered: true, isReplay: false });
    expect(await outputOf(home, run)).toMatchObject({ ...place, payload: { amount: 3 } });
    await finish(home);
    expect(await statusOf(home, run)).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect(await home.ports.signals.read(here)).toMatchObject({ waiters: [], signals: [{ state: 'taken' }] });
  });

  it('that comes before its wait is kept, and taken by the first that begins', async () => {
    const home = createTestEnv();
    expect(await send(home, { payload: 'early' })).toMatchObject({ isDelivered: false });
    home.ports.clock.advance(hours(23));
    const run = await waiting(home);
    await finish(home);
    expect([await statusOf(home, run), await outputOf(home, run)]).toMatchObject(['completed', { payload: 'early' }]);
    const next = await waiting(home, 'next');
    expect(await statusOf(home, next)).toBe('running');
  });

  it('is kept no longer than it is asked to be, and a day where it is not', async () => {
    const home = createTestEnv();
    await send(home, { expiresIn: seconds(60), payload: 'short' });
    await send(home, { payload: 'day' });
    await send(home, { expiresIn: days(30), payload: 'month' });
    home.ports.clock.advance(hours(24));
    const [one, two] = [await waiting(home), await waiting(home, 'next')];
    expect([await outputOf(home, one), await outputOf(home, two)]).toMatchObject([{ payload: 'month' }, undefined]);
  });

  it('goes to the wait that has lasted longest, and the first that came goes first', async () => {
    const home = createTestEnv();
    const runs: RunAddress[] = [];
    for (const name of ['one', 'two']) {
      runs.push(await waiting(home, name));
      home.ports.clock.advance(seconds(1));
    }
    for (const payload of ['first', 'second', 'third']) {
      await send(home, { payload });
      home.ports.clock.advance(seconds(1));
    }
    runs.push(await waiting(home, 'three'));
    const outputs = await Promise.all(runs.map((run) => outputOf(home, run)));
    expect(outputs).toMatchObject([{ payload: 'first' }, { payload: 'second' }, { payload: 'third' }]);
  });

  it('of another name, correlation or environment reaches nobody here', async () => {
    const home = createTestEnv();
    const run = await waiting(home);
    for (const to of [
      { ...place, name: 'refunded' },
      { ...place, correlation: 'order-8' },
    ])
      expect(await send(home, {}, to)).toMatchObject({ isDelivered: false });
    const elsewhere = { ...scope, environment: environment('staging') };
    const other = await sendSignal(home.worker, elsewhere, { ...place, payload: null, bodyHash: 'h' });
    expect(other).toMatchObject({ isDelivered: false });
    expect(await statusOf(home, run)).toBe('running');
  });

  it('is not given to a run that waits no more, whatever its entry says, but to the next', async () => {
    const home = createTestEnv();
    const over = await waiting(home, 'over');
    home.ports.clock.advance(seconds(1));
    const next = await waiting(home, 'next');
    const [stale] = (await home.ports.signals.read(here)).waiters;
    if (stale === undefined) throw new Error('nobody waits');
    await cancelRun(home.worker, over);
    const gone = { ...stale, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
    for (const entry of [stale, gone]) await home.ports.signals.addWaiter(here, entry, after(stale.since, days(9)));
    expect(await send(home)).toMatchObject({ isDelivered: true });
    expect(await outputOf(home, next)).toMatchObject(place);
    expect((await home.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('that two see free, and each for another wait, goes to one of them', async () => {
    // One looker saw the place before the older wait was entered, and comes back to it late.
    let late: ((meeting: SignalsAtKey) => Promise<void>) | undefined;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        signals: overrideMethods(deps.signals, {
          read: async (asked) => {
            const seen = await deps.signals.read(asked);
            const meanwhile = late;
            late = undefined;
            await meanwhile?.(seen);
            return seen;
          },
        }),
      }),
    });
    const old = await waiting(home, 'old');
    const [entry] = (await home.ports.signals.read(here)).waiters;
    if (entry === undefined) throw new Error('nobody waits');
    home.ports.clock.advance(seconds(1));
    const young = await waiting(home, 'within_timeout');
    await home.ports.signals.removeWaiter(here, entry);
    late = async () => {
      await home.ports.signals.addWaiter(here, entry, entry.since);
      await send(home, { signalId: signalId('one'), payload: 'once' });
    };
    await send(home, { signalId: signalId('one'), payload: 'once' });
    expect([await outputOf(home, old), await outputOf(home, young)]).toMatchObject([{ payload: 'once' }, undefined]);
  });

  it('is no wake, and a wake is none', async () => {
    const home = createTestEnv();
    const run = await waiting(home);
    expect(await wakeRun(home.worker, run)).toEqual({ kind: 'woken', nodeIds: [] });
    expect(await statusOf(home, run)).toBe('running');
  });
});

describe('a signal that is sent again', () => {
  it.each([
    ['by its own id', { signalId: signalId('mine') }],
    ['under its key', { idempotencyKey: 'mine' }],
    ['by both', { signalId: signalId('mine'), idempotencyKey: 'mine' }],
  ])('%s is one signal, and is answered as it was', async (_how, names) => {
    const home = createTestEnv();
    const first = await send(home, { ...names, payload: 1 });
    expect(first).toMatchObject({ kind: 'sent', isDelivered: false, isReplay: false });
    const run = await waiting(home);
    expect(await outputOf(home, run)).toMatchObject({ payload: 1 });
    const next = await waiting(home, 'next');
    expect(await send(home, { ...names, payload: 1 })).toEqual({ ...first, isReplay: true });
    expect(await statusOf(home, next)).toBe('running');
    expect(await send(home, { ...names, payload: 2 })).toEqual({ kind: 'idempotency_conflict' });
    expect(await send(home, { ...names, payload: 3, name: 'refunded' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('without a name of its own is another signal', async () => {
    const home = createTestEnv();
    for (const _time of [1, 2]) expect(await send(home, { payload: 1 })).toMatchObject({ isReplay: false });
    expect((await home.ports.signals.read(here)).signals).toHaveLength(2);
  });

  it('under a key whose id means another signal leaves the key free', async () => {
    const home = createTestEnv();
    await send(home, { signalId: signalId('mine'), payload: 1 });
    const both = { signalId: signalId('mine'), idempotencyKey: 'key', payload: 2 };
    expect(await send(home, both)).toEqual({ kind: 'idempotency_conflict' });
    expect(await send(home, { idempotencyKey: 'key', payload: 3 })).toMatchObject({ kind: 'sent', isReplay: false });
  });
});

describe('a wait', () => {
  it('that is over fails its node, leaves the place, and the signal after it is kept', async () => {
    const home = createTestEnv();
    const run = await waiting(home, 'flow', { ms: 600_000 });
    await home.settle();
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'signal_expired' } });
    expect((await home.ports.signals.read(here)).waiters).toEqual([]);
    expect(await send(home)).toMatchObject({ isDelivered: false });
  });

  it('takes a signal whose sender died before anybody was told, rather than be over', async () => {
    const home = createTestEnv();
    const run = await waiting(home, 'flow', { ms: 600_000 });
    const { clock } = home.ports;
    const kept = { signalId: signalId('s'), receivedAt: clock.now(), bufferedUntil: after(clock.now(), days(1)) };
    await home.ports.signals.store(here, { ...kept, payload: 'left behind', retainUntil: after(clock.now(), days(3)) });
    await home.settle();
    expect([await statusOf(home, run), await outputOf(home, run)]).toMatchObject(['completed', { payload: 'left behind' }]);
  });

  it('that its worker died before it could enter takes a signal that lay there all along, rather than be over', async () => {
    let isKilled = true;
    const home = createTestEnv({
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
    await send(home, { payload: 'there before' });
    await expect(waiting(home, 'flow', { ms: 600_000 })).rejects.toThrow('killed here');
    isKilled = false;
    const [run] = (await home.ports.index.list(scope, { limit: 1 })).heads;
    if (run === undefined) throw new Error('there is no run');
    await home.settle();
    expect([await statusOf(home, run.address), await outputOf(home, run.address)]).toMatchObject([
      'completed',
      { payload: 'there before' },
    ]);
    expect((await home.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('longer than a queue can delay ends by a timer', async () => {
    const home = createTestEnv();
    const run = await waiting(home, 'flow', { ms: 7_200_000, continues: true });
    expect(home.ports.timers.pending()).toMatchObject([{ job: { kind: 'wake', nodeId: 's' } }]);
    await home.settle();
    expect([await statusOf(home, run), await outputOf(home, run)]).toMatchObject(['completed', { signalId: null }]);
  });

  it('of a run that is cancelled leaves the place', async () => {
    const home = createTestEnv();
    const run = await waiting(home);
    await cancelRun(home.worker, run);
    expect((await home.ports.signals.read(here)).waiters).toEqual([]);
  });

  it('begins in the first commit of a run too', async () => {
    const home = createTestEnv();
    await send(home, { payload: 'early' });
    await home.publish(workflow('flow', 's>b', { s: place }));
    const run = await home.begin('flow');
    await finish(home);
    expect(await statusOf(home, run)).toBe('completed');
  });
});

describe('a signal to a run', () => {
  const toRun = (home: TestEnv, run: RunAddress) => sendToRun(home.worker, run, { name: 'paid', payload: 1, bodyHash: 'h' });

  it('reaches the wait that names no correlation', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>s s>b', { s: { name: 'paid' } }));
    const run = await home.begin('flow');
    expect(await toRun(home, run)).toMatchObject({ isDelivered: false });
    await finish(home);
    await finish(home);
    expect(await statusOf(home, run)).toBe('completed');
  });

  it('that has ended, or that is not there, is refused', async () => {
    const home = createTestEnv();
    const run = await waiting(home);
    await cancelRun(home.worker, run);
    expect(await toRun(home, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
    expect(await toRun(home, { ...run, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({ kind: 'not_found' });
    expect(await toRun(home, { ...run, environment: environment('staging') })).toEqual({ kind: 'not_found' });
  });
});

it('a run without signals asks nothing of the meeting place', async () => {
  const home = createTestEnv({
    wrap: (deps) => ({
      ...deps,
      signals: new Proxy(deps.signals, {
        get: (_port, name) => {
          throw new Error(`signals.${String(name)} was asked for`);
        },
      }),
    }),
  });
  await home.publish(workflow('flow', 'a>z z>b a>c', { z: { ms: minutes(5) } }));
  const run = await home.begin('flow');
  await home.settle();
  expect(await statusOf(home, run)).toBe('completed');
  await home.publish(workflow('other', 'a>z z>b', { z: { ms: minutes(5) } }));
  const other = await home.begin('other');
  await cancelRun(home.worker, other);
  expect(await statusOf(home, other)).toBe('cancelled');
});
