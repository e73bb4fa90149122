/** A wait never fails a run whose deadline was not declared, and everything that the run has stored lives on with it. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../lib/engine/durable/command-batch.ts';
import { type RunAddress, workflowName } from '../../lib/engine/ids.ts';
import { type Instant, type DurationMs, after, days, hours, minutes } from '../../lib/engine/time.ts';
import type { RetentionJob } from '../../lib/ports/jobs.ts';
import { extendRetention } from '../../lib/service/execution/extend-retention.ts';
import { handleSignalJob } from '../../lib/service/runs/handle-signal-job.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { inTier } from '../tier.ts';
import { codeManifest, commitsOf, deploy } from './code-test-env.ts';
import { LongRun } from './long-run.ts';
import { overrideMethods } from './override-methods.ts';
import { ScriptedPrograms, type ScriptStage, functionCommand } from './scripted-programs.ts';
import { createTestEnv, finished, scope, workflow } from './test-env.ts';

/** A crash is played at each call, or at one of so many. */
const everyCall = inTier({ quick: 5, deep: 1 });
const napDays = inTier({ quick: 100, deep: 360 });

const startAt = createTestEnv().ports.clock.now();
const sleepUntil = (key: string, wakeAt: Instant): Command => ({ kind: 'sleep', key, wakeAt });

async function startCode(
  stages: readonly ScriptStage[],
  terms: { readonly deadlineAt?: Instant; readonly declared?: number } = {},
) {
  const code: ScriptedPrograms = new ScriptedPrograms(() => played.env.ports.clock, stages);
  const played: LongRun = new LongRun({ programs: code });
  const { declared, ...rest } = terms;
  const order = { name: 'order', version: '1', ...(declared === undefined ? {} : { deadlineSeconds: declared }) };
  await deploy(played.env, codeManifest('v1', [order]));
  const answer = await played.env.start({ workflowName: workflowName('order'), ...rest });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { played, run: { ...scope, runId: answer.runId } };
}

const eventsOf = async (played: LongRun, run: RunAddress) => (await commitsOf(played.env, run)).flatMap(({ events }) => events);
const extensionsOf = async (played: LongRun, run: RunAddress): Promise<readonly number[]> =>
  (await eventsOf(played, run)).flatMap((event) =>
    event.type === 'DEADLINE_EXTENDED' ? [Math.round((event.deadlineAt - startAt) / days(1))] : [],
  );
const statusOf = async (played: LongRun, run: RunAddress) => (await played.env.fold(run)).state.progress;

describe('without a declared deadline', () => {
  it('code sleeps for 8 days and completes', async () => {
    const { played, run } = await startCode([
      [functionCommand('charge')],
      [sleepUntil('nap', after(startAt, days(8)))],
      [functionCommand('ship')],
    ]);
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
    expect(await extensionsOf(played, run)).toEqual([15]);
  });

  it('a graph sleeps for 8 days and completes', async () => {
    const played = new LongRun({
      answer: (node) =>
        node === 'x' ? { kind: 'sleeping', wakeAt: after(startAt, days(8)), output: { value: 1 } } : finished(node),
    });
    await played.env.publish(workflow('flow', 'a>x x>b'));
    const run = await played.env.begin('flow');
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
  });

  it('code waits 30 days for a signal, receives it, and an expiry of 30 days passes without one', async () => {
    const wait = (key: string): Command => ({
      kind: 'signal-wait',
      key,
      signal: key,
      correlation: '1',
      expiresAt: after(startAt, days(30)),
    });
    for (const isSent of [true, false]) {
      const { played, run } = await startCode([[wait('approved')], [functionCommand('ship')]]);
      await played.playUntil(after(startAt, days(29)));
      if (isSent) {
        const request = { name: 'approved', correlation: '1', payload: 5, bodyHash: 'h', idempotencyKey: 'k' };
        expect(await sendSignal(played.worker(), scope, request)).toMatchObject({ kind: 'sent' });
      }
      await played.playToEnd(run);
      const progress = await statusOf(played, run);
      expect(progress).toMatchObject({ status: 'completed' });
      expect('endedAt' in progress && Math.round((progress.endedAt - startAt) / days(1))).toBe(isSent ? 29 : 30);
    }
  });

  it('a wait without an expiry continues for 365 days, and is extended six times', async () => {
    const { played, run } = await startCode([[{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }]]);
    await played.playToEnd(run);
    expect(await extensionsOf(played, run)).toEqual([14, 28, 56, 112, 224, 365]);
    const progress = await statusOf(played, run);
    expect(progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect('endedAt' in progress && progress.endedAt).toBe(after(startAt, days(365)));
  });

  it(`a run that sleeps a day at a time for ${napDays} days is extended at most six times, and keeps all its commits`, async () => {
    const naps = Array.from({ length: napDays }, (_, index): ScriptStage => [
      sleepUntil(`nap ${index}`, after(startAt, days(index + 1))),
    ]);
    const { played, run } = await startCode(naps);
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
    expect((await extensionsOf(played, run)).length).toBeLessThanOrEqual(6);
    expect((await eventsOf(played, run)).filter(({ type }) => type === 'SLEEP_STARTED')).toHaveLength(napDays);
  });

  it('a step that runs when the deadline passes after a long sleep completes', async () => {
    const { played, run } = await startCode([
      [sleepUntil('nap', after(startAt, days(7)))],
      [functionCommand('work')],
      [sleepUntil('pause', after(startAt, (days(7) + hours(1)) as DurationMs))],
    ]);
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
  });

  it('a child run waits 20 days, and its caller waits for it', async () => {
    const answer = (node: string) =>
      node === 'x' ? ({ kind: 'sleeping', wakeAt: after(startAt, days(20)), output: { value: 1 } } as const) : finished(node);
    const played = new LongRun({ answer });
    await played.env.publish(workflow('child', 'x>y'));
    await played.env.publish(workflow('flow', 'a>k k>b', { k: { calls: 'child' } }));
    const run = await played.env.begin('flow');
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
    expect(await extensionsOf(played, run)).toEqual([14, 28]);
  });

  it('a wait that would end after 365 days fails at once, and its error names the ways out', async () => {
    const { played, run } = await startCode([[sleepUntil('nap', after(startAt, days(366)))]]);
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({
      status: 'failed',
      error: {
        code: 'deadline_exceeded',
        message: expect.stringContaining('sleep for a shorter time, or declare a longer deadline'),
      },
    });
  });
});

describe('a declared deadline', () => {
  it('of the start is not extended', async () => {
    const { played, run } = await startCode([[{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }]], {
      deadlineAt: after(startAt, days(3)),
    });
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'failed', endedAt: after(startAt, days(3)) });
  });

  it('of the code is the deadline of its runs', async () => {
    const sleep = [sleepUntil('nap', after(startAt, days(8)))];
    const { played, run } = await startCode([sleep], { declared: days(10) / 1_000 });
    expect((await played.env.fold(run)).head).toMatchObject({ deadlineAt: after(startAt, days(10)) });
    expect((await played.env.fold(run)).head.deadlineLimitAt).toBeUndefined();
    await played.playToEnd(run);
    expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
    const short = await startCode([sleep], { declared: days(2) / 1_000 });
    await short.played.playToEnd(short.run);
    expect(await statusOf(short.played, short.run)).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  it('of the caller bounds a child, whose own default is extended up to it', async () => {
    const answer = (node: string) => (node === 'x' ? ({ kind: 'awaiting', name: 'paid' } as const) : finished(node));
    const played = new LongRun({ answer });
    await played.env.publish(workflow('child', 'x>y'));
    await played.env.publish({
      ...workflow('flow', 'a>k k>b', { k: { calls: 'child' } }),
      options: { deadlineSeconds: days(20) / 1_000 },
    });
    const run = await played.env.begin('flow');
    await played.playToEnd(run);
    const runs = await played.env.ports.index.list(scope, { limit: 10 });
    const child = runs.heads.find(({ address }) => address.runId !== run.runId);
    if (child === undefined) throw new Error('no child');
    expect(await extensionsOf(played, child.address)).toEqual([14, 20]);
    expect(await statusOf(played, run)).toMatchObject({ endedAt: after(startAt, days(20)) });
  });

  it('does not count for a run that worked all the time: seven days without a wait end it', async () => {
    const played = new LongRun({ answer: () => ({ kind: 'failed', failure: { cause: 'error', message: 'later' } }) });
    await played.env.publish(workflow('flow', 'a>b'));
    const run = await played.env.begin('flow');
    played.lost = 'node';
    await played.playUntil(after(startAt, days(8)));
    expect(await statusOf(played, run)).toMatchObject({ status: 'failed', endedAt: expect.closeTo(after(startAt, days(7)), -6) });
  });
});

describe('the retention', () => {
  it('moves 15 minutes after each extension, when no attempt that knows the earlier expiry still writes', async () => {
    const { played, run } = await startCode([[{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }]]);
    const expiryDays = async () => ((await played.env.ports.log.head(run))?.expiresAt ?? 0) / days(1) - startAt / days(1);
    for (const deadline of [7, 14, 28, 56]) {
      await played.playUntil(after(startAt, (days(deadline) + minutes(14)) as DurationMs));
      expect((await played.env.fold(run)).head.deadlineAt).toBe(after(startAt, days(2 * deadline)));
      expect(await expiryDays()).toBe(deadline + 31);
      await played.playUntil(after(startAt, (days(deadline) + minutes(20)) as DurationMs));
      expect(await expiryDays()).toBe(2 * deadline + 31);
    }
  });

  it('follows the deadline although the first message that moves it is lost', async () => {
    const { played, run } = await startCode([
      [functionCommand('charge')],
      [{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }],
    ]);
    played.lost = 'retention';
    await played.playUntil(after(startAt, days(20)));
    expect((await played.env.ports.log.head(run))?.expiresAt).toBe(after(startAt, days(38)));
    played.lost = undefined;
    await played.playUntil(after(startAt, (days(20) + minutes(60)) as DurationMs));
    expect((await played.env.ports.log.head(run))?.expiresAt).toBe(after(startAt, (days(28) + days(31)) as DurationMs));
  });

  it.each(['code', 'graph'] as const)(
    'follows the deadline of a %s run that ends minutes after the extension, although the message is lost',
    async (kind) => {
      const wakeAt = after(startAt, (days(7) + minutes(5)) as DurationMs);
      const { played, run } = kind === 'code' ? await startCode([[sleepUntil('nap', wakeAt)]]) : await startSleeper(wakeAt);
      played.lost = 'retention';
      await played.playUntil(after(startAt, (days(7) + minutes(16)) as DurationMs));
      expect(await statusOf(played, run)).toMatchObject({ status: 'completed' });
      expect((await played.env.ports.log.head(run))?.projection).toMatchObject({
        status: 'completed',
        hasExtendedDeadline: true,
      });
      played.lost = undefined;
      await played.playUntil(after(startAt, (days(7) + minutes(60)) as DurationMs));
      const { head } = await played.env.fold(run);
      expect(head.expiresAt).toBeGreaterThan(after(startAt, days(38)));
      expect((await played.env.ports.log.head(run))?.expiresAt).toBe(head.expiresAt);
    },
  );
});

async function startSleeper(wakeAt: Instant) {
  const answer = (node: string) =>
    node === 'x' ? ({ kind: 'sleeping', wakeAt, output: { value: 1 } } as const) : finished(node);
  const played = new LongRun({ answer });
  await played.env.publish(workflow('flow', 'a>x x>b'));
  return { played, run: await played.env.begin('flow') };
}

const large = Array.from({ length: 90_000 }, (_, index) => `${index}`).join('-');

/** A run with a large value and a slot or a pin that waits for a signal while its first deadline passes. */
async function startWaiting(kind: 'code' | 'graph') {
  if (kind === 'code') {
    const { played, run } = await startCode([
      [functionCommand('charge')],
      [{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }],
      [functionCommand('ship')],
    ]);
    return { played, run };
  }
  const answer = (node: string) =>
    node === 'x' ? ({ kind: 'awaiting', name: 'paid', correlation: '1' } as const) : finished(node === 'a' ? large : node);
  const played = new LongRun({ answer });
  await played.env.publish({ ...workflow('flow', 'a>x x>b'), options: { maxConcurrentRuns: 1 } });
  return { played, run: await played.env.begin('flow') };
}

describe.each(['code', 'graph'] as const)('a %s run', (kind) => {
  /** Crashes one process while the deadline is extended, and plays past the first expiry. */
  async function playThroughCrash(call: number, crash: 'before' | 'after') {
    const { played, run } = await startWaiting(kind);
    await played.playUntil(after(startAt, (days(7) - minutes(30)) as DurationMs));
    played.crashAt({ call, kind: crash });
    await played.playUntil(after(startAt, (days(7) + hours(2)) as DurationMs));
    const { calls } = played.processes;
    await played.playUntil(after(startAt, days(50)));
    const request = { name: 'paid', correlation: '1', payload: 5, bodyHash: 'h', idempotencyKey: 'k' };
    await sendSignal(played.worker(played.env.deps), scope, request);
    await played.playToEnd(run);
    return { calls, played, run };
  }

  it(
    `lives on with all its items after a crash at any call of the extension: one of ${everyCall}`,
    { timeout: 120_000 },
    async () => {
      const { calls } = await playThroughCrash(0, 'before');
      expect(calls).toBeGreaterThan(20);
      for (let call = 1; call <= calls; call += everyCall) {
        for (const crash of ['before', 'after'] as const) {
          const where = `${crash} call ${call}`;
          const { played, run } = await playThroughCrash(call, crash);
          expect(await statusOf(played, run), where).toMatchObject({ status: 'completed' });
          const commits = await commitsOf(played.env, run);
          expect(
            commits.map(({ number }) => number),
            where,
          ).toEqual(commits.map((_, index) => index + 1));
          const head = await played.env.ports.log.head(run);
          expect(head?.deadlineAt, where).toBe(after(startAt, days(56)));
          expect(head?.expiresAt, where).toBe(after(startAt, (days(56) + days(31)) as DurationMs));
          // One item more than a day after the end is enough to lose the run, so everything is read after the first expiry.
          for (const event of commits.flatMap(({ events }) => events)) {
            const stored = 'output' in event && 'ref' in event.output ? event.output.ref : undefined;
            if (stored?.startsWith('blob:') === true)
              expect(await played.env.ports.blobs.get(run, stored.slice('blob:'.length)), where).toBe(large);
          }
        }
      }
    },
  );
});

/** The code function can send any message to the delay queue. (docs/SECURITY.md) */
describe('a forged retention message', () => {
  const oldExpiry = after(startAt, days(38));
  const newExpiry = after(startAt, days(45));
  const extendedAt = after(startAt, (days(7) + minutes(2)) as DurationMs);

  async function startExtended() {
    const { played, run } = await startWaiting('graph');
    played.lost = 'retention';
    await played.playUntil(extendedAt);
    const retention: RetentionJob = { kind: 'retention', run };
    return { played, run, retention };
  }
  const headExpiry = async (played: LongRun, run: RunAddress) => (await played.env.ports.log.head(run))?.expiresAt;

  it.each([
    { part: 'payloads', after: '~' },
    { part: 'items', after: '~' },
    { part: 'items', after: 'platform ~' },
  ] as const)('with the position %o skips nothing', async (position) => {
    const { played, run, retention } = await startExtended();
    await played.playUntil(after(extendedAt, minutes(20)));
    // The message that this test replaces had both fields.
    const forged = { ...retention, expiresAt: newExpiry, position };
    await played.env.take(forged);
    expect(await headExpiry(played, run)).toBe(newExpiry);
    await played.playUntil(after(oldExpiry, days(1)));
    const commits = await commitsOf(played.env, run);
    expect(commits.map(({ number }) => number)).toEqual(commits.map((_, index) => index + 1));
    for (const event of commits.flatMap(({ events }) => events)) {
      const stored = 'output' in event && 'ref' in event.output ? event.output.ref : undefined;
      if (stored?.startsWith('blob:') === true)
        expect(await played.env.ports.blobs.get(run, stored.slice('blob:'.length))).toBe(large);
    }
  });

  it('right after the extension waits for the attempts that still write with the earlier expiry', async () => {
    const { played, run, retention } = await startExtended();
    const { log } = played.env.ports;
    await played.env.take(retention);
    // An attempt that read the run before the extension.
    await log.attach(run, 'late', 'value', { expiresAt: oldExpiry, kind: 'graph' });
    expect(await headExpiry(played, run)).toBe(oldExpiry);
    played.lost = undefined;
    await played.playUntil(after(extendedAt, minutes(40)));
    expect(await headExpiry(played, run)).toBe(newExpiry);
    await played.playUntil(after(oldExpiry, days(1)));
    expect(await log.attached(run, 'late')).toBe('value');
  });

  it('between the pages of a long run skips nothing, and the first page is not handled again', async () => {
    const { played, run, retention } = await startExtended();
    const { log } = played.env.ports;
    for (let index = 0; index < 250; index += 1)
      await log.attach(run, `value-${String(index).padStart(3, '0')}`, index, { expiresAt: oldExpiry, kind: 'graph' });
    await played.playUntil(after(extendedAt, minutes(20)));
    const pages: (string | undefined)[] = [];
    const extendItems: typeof log.extendItems = async (address, expiresAt, page) => {
      pages.push(page.after);
      return log.extendItems(address, expiresAt, page);
    };
    const worker = played.env.worker;
    const paged = { ...worker, deps: { ...worker.deps, log: overrideMethods(log, { extendItems }) } };
    for (let message = 1; message <= 10 && (await headExpiry(played, run)) !== newExpiry; message += 1) {
      const forged = { ...retention, expiresAt: newExpiry, position: { part: 'payloads', after: '~' } } as const;
      await extendRetention(paged, forged, played.env.ports.clock.now());
    }
    expect(await headExpiry(played, run)).toBe(newExpiry);
    expect(pages).toHaveLength(3);
    expect(new Set(pages).size).toBe(3);
    await played.playUntil(after(oldExpiry, days(1)));
    for (const index of [0, 99, 100, 199, 200, 249])
      expect(await log.attached(run, `value-${String(index).padStart(3, '0')}`)).toBe(index);
  });
});

describe('a deployment', () => {
  it('stays pinned by a run that waits longer than the pin was kept at first', async () => {
    const { played, run } = await startCode([[{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }]]);
    await played.playUntil(after(startAt, days(60)));
    const { deploymentId } = (await played.env.fold(run)).head;
    if (deploymentId === null) throw new Error('no deployment');
    expect(await played.env.ports.deployments.pinnedRuns(scope, deploymentId, 5)).toMatchObject([{ runId: run.runId }]);
  });
});

describe('a signal that code sends again', () => {
  it('is delivered once, although the run sends it for longer than the first reservation was kept', async () => {
    const wait = (key: string): Command => ({ kind: 'signal-wait', key, signal: 'paid', correlation: '1' });
    const { played, run } = await startCode([[wait('first'), wait('second')]]);
    const job = { kind: 'signal', run, key: 'send', name: 'paid', correlation: '1', payload: 5 } as const;
    for (let day = 1; day <= 30; day += 1) {
      await played.playUntil(after(startAt, days(day)));
      await handleSignalJob(played.worker(), job);
    }
    expect((await eventsOf(played, run)).filter(({ type }) => type === 'SIGNAL_RECEIVED')).toHaveLength(1);
  });
});

describe('a concurrency slot', () => {
  it('stays with a run that waits longer than the slot was kept at first', async () => {
    const { played } = await startWaiting('graph');
    await played.playUntil(after(startAt, days(60)));
    const pool = { ...scope, workflowName: workflowName('flow') };
    expect(await played.env.ports.concurrencySlots.taken(pool)).toHaveLength(1);
  });

  it('is awaited for longer than seven days by a run whose deadline was not declared', async () => {
    const { played } = await startWaiting('graph');
    const answer = await played.env.start({ workflowName: workflowName('flow'), idempotencyKey: 'second' });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const second = { ...scope, runId: answer.runId };
    await played.playUntil(after(startAt, days(50)));
    expect(await statusOf(played, second)).toMatchObject({ status: 'pending' });
    for (const idempotencyKey of ['k1', 'k2']) {
      const request = { name: 'paid', correlation: '1', payload: 5, bodyHash: 'h', idempotencyKey };
      await sendSignal(played.worker(), scope, request);
      await played.playUntil(after(played.env.ports.clock.now(), hours(8)));
    }
    expect(await statusOf(played, second)).toMatchObject({ status: 'completed' });
  });
});
