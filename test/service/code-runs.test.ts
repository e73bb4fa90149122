/** Runs of code that is replayed: what a drive commits, what it heeds, and that nothing of it is lost. */
import { describe, expect, test } from 'vitest';
import { deploymentId, nodeId, workflowName as workflowNamed } from '../../lib/engine/ids.ts';
import { after, days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { getRun } from '../../lib/service/get-run.ts';
import { rerunRun } from '../../lib/service/rerun-run.ts';
import { resumeRun } from '../../lib/service/resume-run.ts';
import { sendSignal } from '../../lib/service/send-signal.ts';
import { wakeRun } from '../../lib/service/wake-run.ts';
import { begun, codeManifest, commitsOf, quiet, ship, statusOf, storyOf, takeAll, whenAborted } from './code-house.ts';
import { type House, house, scope, workflow } from './house.ts';
import { fn } from './staged-code.ts';

describe('what a drive commits', () => {
  test('a chain of three steps is four commits after the head', async () => {
    const { home, run, code } = await begun([[fn('a')], [fn('b')], [fn('c')]]);
    await home.settle();
    expect(await storyOf(home, run)).toEqual([
      'ask(.drive.1)',
      'ask(a)',
      'done(a) ask(b)',
      'done(b) ask(c)',
      'done(c) done(.drive.1) COMPLETED',
    ]);
    expect(code.begun).toEqual(['a#1', 'b#1', 'c#1']);
    expect((await home.world.log.head(run))?.projection.status).toBe('completed');
    expect(await home.world.deployments.holders(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('ten steps side by side are asked for in one commit', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const { home, run } = await begun([keys.map((key) => fn(key))]);
    await home.settle();
    const story = await storyOf(home, run);
    expect(story[1]).toBe(keys.map((key) => `ask(${key})`).join(' '));
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('it is told of its run, its input, how it is replayed, and when to hand on', async () => {
    const { home, run, code } = await begun([[fn('a')]]);
    const now = home.world.clock.now();
    await home.settle();
    expect(code.drives[0]?.task).toMatchObject({
      run: { runId: run.runId, workflowName: 'order', version: '1', createdAt: now, deadlineAt: after(now, days(7)) },
      replayVersion: 1,
      input: {},
      history: { entries: [], open: [], attempt: 1 },
      handsOnAt: after(now, durationMs(minutes(15) - seconds(5) - seconds(60))),
    });
  });

  test('values too large for the log are in the history that the next drive is given', async () => {
    const large = 'x'.repeat(200_000);
    const { home, run, code } = await begun(
      [[fn('a')], [{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), minutes(5)) }], [fn('b')]],
      {
        body: () => large,
      },
    );
    await home.settle();
    expect(JSON.stringify(await commitsOf(home, run)).length).toBeLessThan(20_000);
    expect(code.drives[1]?.task.history.entries).toContainEqual({
      kind: 'settled',
      key: 'a',
      result: expect.objectContaining({ output: large }),
    });
  });
});

const newYear = async () => house().world.clock.now();

describe('waits', () => {
  test('a sleep lets the drive rest, and its end asks for the next', async () => {
    const at = after(await newYear(), hours(3));
    const { home, run, code } = await begun([[fn('a')], [{ kind: 'sleep', key: 'nap', wakeAt: at }], [fn('b')]]);
    await home.settle();
    expect(await storyOf(home, run)).toEqual([
      'ask(.drive.1)',
      'ask(a)',
      'done(a) sleep(nap) done(.drive.1)',
      'done(nap) ask(.drive.2)',
      'ask(b)',
      'done(b) done(.drive.2) COMPLETED',
    ]);
    expect(code.begun).toEqual(['a#1', 'b#1']);
    expect(home.world.clock.now()).toBeGreaterThanOrEqual(at);
  });

  test('a wake ends it before its time, and a resumption says why and drives on', async () => {
    const at = after(await newYear(), hours(3));
    const one = await begun([[{ kind: 'sleep', key: 'nap', wakeAt: at }]]);
    await takeAll(one.home);
    expect(await wakeRun(one.home.worker, one.run)).toEqual({ kind: 'woken', nodeIds: ['nap'] });
    await takeAll(one.home);
    expect(await statusOf(one.home, one.run)).toBe('completed');
    expect(one.home.world.clock.now()).toBeLessThan(at);

    const other = await begun([[{ kind: 'sleep', key: 'nap', wakeAt: at }]]);
    await takeAll(other.home);
    expect(await resumeRun(other.home.worker, other.run, { reason: 'asked' })).toEqual({ kind: 'resumed', isReplay: false });
    await takeAll(other.home);
    expect(await statusOf(other.home, other.run)).toBe('completed');
    const types = (await commitsOf(other.home, other.run)).flatMap(({ events }) => events.map(({ type }) => type));
    expect(types).toContain('RUN_RESUMED');
  });

  test('a signal that comes later drives on, and one that was there before is met at once', async () => {
    const wait = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;
    const pay = (home: House) =>
      sendSignal(home.worker, scope, {
        name: 'paid',
        correlation: '17',
        payload: { sum: 5 },
        bodyHash: 'h',
        idempotencyKey: 'k2',
      });
    const one = await begun([[wait], [fn('a')]]);
    await one.home.settle();
    expect(await statusOf(one.home, one.run)).toBe('running');
    expect(await pay(one.home)).toMatchObject({ isDelivered: true });
    await one.home.settle();
    expect(await statusOf(one.home, one.run)).toBe('completed');
    expect(one.code.drives.at(-1)?.task.history.entries).toContainEqual({
      kind: 'settled',
      key: 'paid',
      result: expect.objectContaining({ output: { data: { sum: 5 } } }),
    });

    const other = await begun([[wait, fn('beside')], [fn('a')]], {
      body: (key, _attempt, signal) => (key === 'beside' ? whenAborted(signal) : key),
    });
    await pay(other.home);
    const driving = takeAll(other.home);
    await quiet();
    for (const job of other.home.world.jobs.takeDue()) await other.home.take(job);
    other.home.world.clock.advance(seconds(3));
    await quiet();
    // The body is still at work, and the code knows.
    expect(other.code.drives[0]?.overtaken).toBe(1);
    other.home.world.clock.advance(minutes(20));
    await driving;
  });

  const send = { kind: 'signal-send', key: 'tell', signal: 'paid', correlation: '17', data: 1 } as const;
  const place = { ...scope, name: 'paid', correlation: '17' };

  test('a signal that a step sends is kept for a wait, and reaches that of a graph run or of its own', async () => {
    const { home, run } = await begun([[send]]);
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect((await home.world.signals.at(place)).signals).toMatchObject([
      { signalId: expect.stringMatching(/^sig_/), state: 'free' },
    ]);

    const other = await begun([[send]]);
    await other.home.publish(workflow('waiter', 'a>s', { s: { name: 'paid', correlation: '17' } }));
    const waiter = await other.home.begin('waiter');
    for (const job of other.home.world.jobs.takeSent()) await other.home.take(job);
    await takeAll(other.home);
    for (const job of other.home.world.jobs.takeDue()) await other.home.take(job);
    expect(await statusOf(other.home, waiter)).toBe('completed');
    expect((await other.home.world.signals.at(place)).signals).toMatchObject([{ state: 'taken' }]);

    const own = await begun([[send, { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' }]]);
    await own.home.settle();
    expect(await statusOf(own.home, own.run)).toBe('completed');
  });

  test('a signal that no place could hold fails its step for good', async () => {
    const { home, run } = await begun([[{ ...send, correlation: 'x'.repeat(257) }]]);
    await home.settle();
    const { progress } = (await home.fold(run)).state;
    expect(progress).toMatchObject({ status: 'failed', error: { cause: 'invalid', code: 'signal_invalid' } });
  });

  test('a run that is called is made, and its end drives the caller on', async () => {
    const { home, run, code } = await begun([[{ kind: 'workflow', key: 'sub', workflowName: 'flow', input: { n: 1 } }]]);
    await home.publish(workflow('flow', 'a>e'));
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect(code.drives).toHaveLength(2);
  });

  test('a graph calls a workflow of code, in a test too', async () => {
    const { home } = await begun([[fn('a')]]);
    await home.publish(workflow('caller', 'a>k', { k: { calls: 'order' } }));
    const caller = await home.begin('caller');
    await home.settle();
    expect(await statusOf(home, caller)).toBe('completed');
  });
});

describe('what is shown of it, and started again', () => {
  test('its steps are nodes by their kinds and keys, and its drives are not', async () => {
    const { home, run } = await begun([
      [fn('charge card')],
      [{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), hours(1)) }],
    ]);
    await takeAll(home);
    const got = await getRun(home.worker, run, true);
    expect(got).toMatchObject({
      run: {
        head: { kind: 'code', deploymentId: 'v1', workflow: { name: 'order', version: '1' } },
        nodes: [
          { node: { id: 'charge.x20.card', type: 'function', label: 'charge card' }, output: { value: 'charge card done' } },
          { node: { id: 'nap', type: 'sleep', label: 'nap' }, state: { status: 'waiting' } },
        ],
      },
    });
  });

  test('a new run takes the version that is named last; a run that there is stays on its deployment', async () => {
    const { home, run, code } = await begun([[{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), hours(1)) }]]);
    await takeAll(home);
    await ship(home, codeManifest('v2', [{ name: 'order', version: '2' }, { name: 'other' }, { name: 'order', version: '3' }]));
    const answer = await home.start({ idempotencyKey: 'again', workflowName: workflowNamed('order') });
    expect(answer).toMatchObject({ kind: 'started', deploymentId: 'v2' });
    await home.settle();
    expect(code.drives.map(({ task }) => task.run.version)).toEqual(['1', '3', '1', '3']);
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a run is run again with its input, and not from one of its steps', async () => {
    const { home, run } = await begun([[fn('a')]]);
    await home.settle();
    const again = { of: run, idempotencyKey: 'r1', bodyHash: 'h' };
    expect(await rerunRun(home.worker, { ...again, from: nodeId('a') })).toEqual({ kind: 'fits_not', field: 'fromNode' });
    expect(await rerunRun(home.worker, { ...again, version: 1 })).toEqual({ kind: 'fits_not', field: 'version' });
    expect(await rerunRun(home.worker, again)).toMatchObject({ kind: 'started', deploymentId: 'v1' });
  });

  test('a run that is to start later is driven then', async () => {
    const { home, code } = await begun([[fn('a')]]);
    const at = after(home.world.clock.now(), hours(2));
    await home.start({ idempotencyKey: 'late', workflowName: workflowNamed('order'), availableAt: at });
    await takeAll(home);
    expect(code.drives).toHaveLength(1);
    await home.settle();
    expect(code.drives).toHaveLength(2);
    expect(home.world.clock.now()).toBeGreaterThanOrEqual(at);
  });
});
