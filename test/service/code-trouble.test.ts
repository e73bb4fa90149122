/** What goes wrong with runs of code that is replayed: others who commit, drives that end badly, messages that are lost or come twice. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, commitNo, firstAttempt, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { days, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { DriveJob } from '../../lib/ports/jobs.ts';
import type { Turn } from '../../lib/engine/durable/turn.ts';
import type { DriveEnd } from '../../lib/ports/programs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/cancel-run.ts';
import { getRun } from '../../lib/service/get-run.ts';
import { recoverRun } from '../../lib/service/recover-runs.ts';
import { resumeRun } from '../../lib/service/resume-run.ts';
import { sendSignal } from '../../lib/service/send-signal.ts';
import { codeCreation } from '../contract/samples.ts';
import { begun, codeManifest, commitsOf, quiet, statusOf, storyOf, takeAll, whenAborted } from './code-house.ts';
import { giveUpAfterDeath } from './given-up.ts';
import { type House, scope } from './house.ts';
import { replaced } from './replaced.ts';
import { Breaks, TryAgain, fn } from './staged-code.ts';

const driveJob = (run: RunAddress, facts: Partial<DriveJob> = {}): DriveJob => ({
  kind: 'drive',
  run,
  commit: commitNo(1),
  nodeId: nodeId('.drive.1'),
  iteration: topLevel,
  attempt: firstAttempt,
  resend: 0,
  creation: codeCreation(run),
  ...facts,
});

const errorOf = async (home: House, run: RunAddress) => {
  const { progress } = (await home.fold(run)).state;
  return progress.status === 'failed' ? progress.error : undefined;
};

const paid = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;
/** After the worker has noted the waits that were begun. */
const pay = async (home: House) => {
  for (const job of home.world.jobs.takeDue()) await home.take(job);
  return sendSignal(home.worker, scope, { name: 'paid', correlation: '17', payload: 5, bodyHash: 'h', idempotencyKey: 'k2' });
};

/** A body that ends when the test says so. */
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { promise, open: () => resolve('open') };
};

describe('a cancel', () => {
  test('reaches the body at work within five seconds, ends the run, and what the body comes to changes nothing', async () => {
    const { home, run, code } = await begun([[fn('a')], [fn('b')]], {
      body: (key, _attempt, signal) => (key === 'b' ? whenAborted(signal) : key),
    });
    const driving = takeAll(home);
    await quiet();
    expect(await cancelRun(home.worker, run, 'enough')).toEqual({ kind: 'cancelled' });
    home.world.clock.advance(seconds(5));
    await driving;
    expect(code.drives[0]?.cancelled).toEqual(['enough']);
    expect((await storyOf(home, run)).at(-1)).toBe('CANCELLED');
    expect(await home.world.deployments.holders(scope, codeManifest('v1').deploymentId, 5)).toEqual([]);
  });

  test('has undone what was done, by the drive that is at work', async () => {
    const { home, run, code } = await begun([[fn('a', { hasRollback: true })], [fn('b', { hasRollback: true })], [fn('c')]], {
      body: (key, _attempt, signal) => (key === 'c' ? whenAborted(signal) : key),
    });
    const driving = takeAll(home);
    await quiet();
    await cancelRun(home.worker, run, 'enough');
    expect(await statusOf(home, run)).toBe('running');
    home.world.clock.advance(seconds(5));
    await driving;
    expect(code.drives[0]?.cancelled).toEqual(['enough']);
    expect((await storyOf(home, run)).slice(4)).toEqual([
      'UNDO',
      'ask(rollback:b)',
      'done(rollback:b) ask(rollback:a)',
      'done(rollback:a) done(.drive.1) CANCELLED',
    ]);
    expect(code.drives).toHaveLength(1);
  });

  test('of a run that waits is undone by a drive of its own, and the wait is left', async () => {
    const { home, run, code } = await begun([[fn('a', { hasRollback: true })], [paid]]);
    await home.settle();
    await cancelRun(home.worker, run, 'enough');
    expect((await home.world.signals.at({ ...scope, name: 'paid', correlation: '17' })).waiters).toEqual([]);
    await home.settle();
    expect(code.begun).toEqual(['a#1', 'rollback:a#1']);
    expect(await statusOf(home, run)).toBe('cancelled');
    expect(await cancelRun(home.worker, run)).toEqual({ kind: 'cancelled' });
  });
});

describe('others who commit', () => {
  test('a signal that comes first makes the turn not happen, and the code is told before it says anything more', async () => {
    const work = gate();
    const { home, run, code } = await begun([[paid, fn('a')], [fn('b')]], { body: (key) => (key === 'a' ? work.promise : key) });
    const driving = takeAll(home);
    await quiet();
    await pay(home);
    work.open();
    await driving;
    expect(code.drives[0]?.refused).toBe(1);
    expect((await storyOf(home, run)).slice(2)).toEqual(['done(paid)', 'done(a) ask(b)', 'done(b) done(.drive.1) COMPLETED']);
    expect(code.begun).toEqual(['a#1', 'b#1']);
  });

  test('while a body is at work it is looked every three seconds, and the code goes on with what it finds', async () => {
    const work = gate();
    const { home, run, code } = await begun([[paid, fn('a')]], { body: () => work.promise });
    const driving = takeAll(home);
    await quiet();
    await pay(home);
    home.world.clock.advance(seconds(3));
    await quiet();
    expect(code.drives[0]?.overtaken).toBe(1);
    home.world.clock.advance(seconds(3));
    await quiet();
    expect(code.drives[0]?.overtaken).toBe(1);
    work.open();
    await driving;
    expect(await statusOf(home, run)).toBe('completed');
    // It had heard of it: nothing that it says then is late.
    expect(code.drives[0]?.refused).toBe(0);
  });

  test('a turn from before the news is late, though the news is on its way to the code', async () => {
    const told = Promise.withResolvers<void>();
    const answers: unknown[] = [];
    const task = Promise.withResolvers<DriveEnd>();
    const asks: Turn = { entries: [{ kind: 'asked', command: fn('b') }], next: 'goes_on', heard: 0 };
    const { home, run } = await begun([], {
      programs: {
        begin: (_scope, _manifest, _task, host) => {
          const say = async (): Promise<void> => {
            const first: Turn = {
              entries: [
                { kind: 'asked', command: paid },
                { kind: 'asked', command: fn('a') },
              ],
              next: 'goes_on',
            };
            answers.push(await host.turn({ ...first, heard: 0 }));
            await told.promise;
            answers.push(await host.turn(asks), await host.turn(asks));
            task.resolve({ kind: 'over' });
          };
          void say();
          return {
            ended: task.promise,
            overtake: () => told.resolve(),
            cancel: () => {},
            handOn: () => {},
            kill: async () => {},
          };
        },
      },
    });
    const driving = takeAll(home);
    await quiet();
    await pay(home);
    home.world.clock.advance(seconds(3));
    await driving;
    expect(answers).toMatchObject([{ kind: 'committed', commit: 2 }, { kind: 'overtaken' }, { kind: 'committed', commit: 4 }]);
    expect((await storyOf(home, run)).slice(2)).toEqual(['done(paid)', 'ask(b)']);
  });

  test('of two drives of one run, one stops; each step has one completion', async () => {
    const { home, run, code } = await begun([[fn('a')], [fn('b')], [fn('c')]]);
    home.world.jobs.takeMessages();
    await Promise.all([home.take(driveJob(run)), home.take(driveJob(run, { resend: 1 }))]);
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    const story = (await storyOf(home, run)).join(' ');
    for (const key of ['a', 'b', 'c']) expect(story.split(`done(${key})`)).toHaveLength(2);
    expect(code.drives).toHaveLength(2);
    expect(code.begun.filter((each) => each.startsWith('b'))).toHaveLength(1);
  });

  test('a drive whose step another one has taken over stops, whatever its body comes to', async () => {
    const [first, second] = [gate(), gate()];
    const { home, run, code } = await begun([[fn('a')], [fn('b')]], {
      body: (key, attempt) => (key === 'b' ? key : attempt === firstAttempt ? first.promise : second.promise),
    });
    const driving = takeAll(home);
    await quiet();
    const other = home.take(driveJob(run, { resend: 1 }));
    await quiet();
    first.open();
    await driving;
    second.open();
    await other;
    expect(await statusOf(home, run)).toBe('completed');
    expect(code.drives[0]).toMatchObject({ refused: 0, end: { kind: 'over' } });
    expect(code.drives[0]?.turns).toHaveLength(2);
    expect(code.begun).toEqual(['a#1', 'a#2', 'b#1']);
  });

  test('what changes nothing that the code sees costs it no replay', async () => {
    const work = gate();
    const { home, run, code } = await begun([[fn('a')], [fn('b')]], { body: (key) => (key === 'a' ? work.promise : key) });
    const driving = takeAll(home);
    await quiet();
    await resumeRun(home.worker, run, { reason: 'asked' });
    home.world.clock.advance(seconds(3));
    await quiet();
    work.open();
    await driving;
    expect(code.drives[0]).toMatchObject({ refused: 0, overtaken: 0 });
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a put whose answer was lost is won by its own item', async () => {
    let lost = 0;
    const { home, run, code } = await begun([[fn('a')], [fn('b')]], {
      wrap: (deps) => ({
        ...deps,
        clock: {
          now: () => deps.clock.now(),
          sleep: async (wait, signal) => (wait < 1_000 ? undefined : deps.clock.sleep(wait, signal)),
        },
        log: replaced(deps.log, {
          put: async (...given) => {
            const answer = await deps.log.put(...given);
            if ((lost += 1) % 2 === 1) throw new Unavailable('the answer');
            return answer;
          },
        }),
      }),
    });
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect(await commitsOf(home, run)).toHaveLength(4);
    expect(code.drives[0]?.refused).toBe(0);
  });
});

describe('messages', () => {
  test('one that comes twice changes nothing and sends nothing; one that comes back sends what was lost', async () => {
    const { home, run, code } = await begun([[paid]]);
    const [job] = home.world.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    await home.take(job);
    const before = await commitsOf(home, run);
    home.world.jobs.takeDue();
    await home.take(job);
    expect(home.world.jobs.messages).toEqual([]);
    expect(home.world.jobs.delayed).toEqual([]);
    // Its wait was never entered.
    const place = { ...scope, name: 'paid', correlation: '17' };
    const [waiter] = (await home.world.signals.at(place)).waiters;
    if (waiter !== undefined) await home.world.signals.leave(place, waiter);
    await home.take(job, { isRedelivered: true });
    for (const look of home.world.jobs.takeDue()) await home.take(look);
    expect((await home.world.signals.at(place)).waiters).toHaveLength(1);
    expect(await commitsOf(home, run)).toEqual(before);
    expect(code.drives).toHaveLength(1);
  });

  test('a drive whose message is lost is sent again by the sweep, past what may be dead', async () => {
    const { home, run } = await begun([[fn('a')]]);
    home.world.jobs.takeMessages();
    home.world.clock.advance(minutes(2));
    expect(await recoverRun(home.worker, run)).toBe(true);
    expect(home.world.jobs.messages).toMatchObject([{ kind: 'drive', nodeId: '.drive.1', resend: 1 }]);
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a long body beats, and is not sent again', async () => {
    const work = gate();
    const { home, run } = await begun([[fn('a')]], { body: () => work.promise });
    const driving = takeAll(home);
    for (let second = 0; second < 300; second += 3) {
      await quiet();
      home.world.clock.advance(seconds(3));
    }
    await quiet();
    expect(await recoverRun(home.worker, run)).toBe(false);
    expect(home.world.jobs.messages).toEqual([]);
    work.open();
    await driving;
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a body whose drive died is begun again, as another attempt that nobody counts as failed', async () => {
    const { home, run, code } = await begun([[fn('a')]], {
      body: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    void takeAll(home);
    await quiet();
    await home.take(driveJob(run), { isRedelivered: true });
    // What the dead one left unsent is looked for, and this drive is not asked for again meanwhile.
    expect(home.world.jobs.delayed.map(({ job }) => job.kind)).toContain('nudge');
    expect(await home.world.log.beats(run)).toMatchObject([{ node: '.drive.1', resends: 0 }]);
    expect(await statusOf(home, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1', 'a#2']);
    expect(code.drives[1]?.task.history.open).toMatchObject([{ key: 'a', attempt: 1, lost: 0 }]);
  });

  test.each(['before it', 'while it is at work'])('a drive whose worker is to end %s is asked to hand on', async (when) => {
    const work = gate();
    const { home, code } = await begun([[fn('a')]], { body: () => work.promise });
    const [job] = home.world.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    const end = new AbortController();
    if (when === 'before it') end.abort();
    const driving = home.take(job, { isToRest: end.signal });
    await quiet();
    expect(code.drives[0]?.askedToHandOn).toBe(when === 'before it' ? 1 : 0);
    end.abort();
    expect(code.drives[0]?.askedToHandOn).toBe(1);
    work.open();
    await driving;
  });

  test('one whose worker died in every delivery for an hour fails the run, and says so', async () => {
    const { home, run } = await begun([[fn('a')]]);
    home.world.jobs.takeMessages();
    for (let death = 0; death < 3; death += 1) {
      expect(await statusOf(home, run)).toBe('pending');
      await giveUpAfterDeath(home, driveJob(run));
      home.world.clock.advance(minutes(30));
    }
    expect(await errorOf(home, run)).toMatchObject({ cause: 'lost', code: 'drive_lost' });
  });

  test('one that comes much too early waits again, and one that comes a little early waits here', async () => {
    const { home, run, code } = await begun([[fn('a')]], {
      body: (key, attempt) => {
        if (attempt === firstAttempt) throw new TryAgain(minutes(2));
        return key;
      },
    });
    await takeAll(home);
    const [delayed] = home.world.jobs.delayed.flatMap(({ job }) => (job.kind === 'drive' ? [job] : []));
    if (delayed === undefined) throw new Error('no drive was asked for');
    home.world.jobs.takeDue();
    const before = home.world.jobs.delayed.length;
    await home.take(delayed);
    expect(home.world.jobs.delayed).toHaveLength(before + 1);
    home.world.clock.advance(durationMs(minutes(2) - seconds(2)));
    const driving = home.take(delayed);
    await quiet();
    expect(code.drives).toHaveLength(1);
    home.world.clock.advance(seconds(2));
    await driving;
    expect(await statusOf(home, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1', 'a#2']);
  });
});

describe('drives that end badly', () => {
  test('a body that breaks the thread has failed with it, and is tried again by another drive', async () => {
    const { home, run, code } = await begun([[fn('a'), fn('b')]], {
      body: (key, attempt) => {
        if (key === 'b' && attempt === firstAttempt) throw new Breaks('exit 1');
        return key;
      },
    });
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    const failures = (await commitsOf(home, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failures).toContainEqual(expect.objectContaining({ code: 'code_crashed', message: 'exit 1' }));
    expect(code.drives).toHaveLength(2);
  });

  test('what does not end in its function’s time is ended, and has failed', async () => {
    const { home, run, code } = await begun([[fn('a')]], {
      body: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    const driving = takeAll(home);
    for (let minute = 0; minute < 15; minute += 1) {
      await quiet();
      home.world.clock.advance(minutes(1));
    }
    await driving;
    expect(code.drives[0]?.end).toMatchObject({ kind: 'timed_out' });
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    const [failure] = (await commitsOf(home, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failure).toMatchObject({ cause: 'timeout', code: 'code_timed_out' });
  });

  test.each<[string, DriveEnd]>([
    ['replay_diverged', { kind: 'diverged', message: 'charge is not sleep', details: { step: 'charge' } }],
    ['artifact_unusable', { kind: 'unloadable', message: 'no such file' }],
    ['workflow_unknown', { kind: 'unknown_workflow', message: 'no order' }],
  ])('%s is put off, later each time, without end and for nobody’s attempt', async (codeOf, end) => {
    const { home, run, code } = await begun([[fn('a')]]);
    code.otherwise = end;
    const began = home.world.clock.now();
    for (let tries = 0; tries < 12; tries += 1) {
      await takeAll(home);
      expect(await getRun(home.worker, run, true)).toMatchObject({
        run: { nodes: [{ node: { id: '.drive.1', type: 'drive' }, state: { status: 'queued', attempt: tries + 2 } }] },
      });
      const [next] = home.world.jobs.delayed.flatMap(({ job, dueAt }) => (job.kind === 'drive' ? [{ job, dueAt }] : []));
      if (next === undefined) throw new Error('nobody drives the run any more');
      home.world.jobs.delayed.length = 0;
      home.world.clock.set(next.dueAt);
      await home.world.jobs.send([next.job]);
    }
    // 5, 10, 20 … 300 s.
    expect(home.world.clock.now() - began).toBe((5 + 10 + 20 + 40 + 80 + 160 + 6 * 300) * 1_000);
    const failures = (await commitsOf(home, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failures).toHaveLength(12);
    expect(failures[0]).toMatchObject({ code: codeOf, message: 'message' in end ? end.message : '' });
    code.otherwise = undefined;
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1']);
  });

  test('a run that diverged and is cancelled ends in minutes, and says which steps are not undone', async () => {
    const { home, run, code } = await begun([[fn('hotel', { hasRollback: true })], [fn('note')], [paid]]);
    await home.settle();
    code.otherwise = { kind: 'diverged', message: 'charge is not sleep', details: { step: 'charge' } };
    await resumeRun(home.worker, run, { reason: 'go on' });
    for (let tries = 0; tries < 7; tries += 1) {
      await takeAll(home);
      home.world.clock.advance(minutes(5));
      await home.world.jobs.send(home.world.jobs.takeDue().flatMap((job) => (job.kind === 'drive' ? [job] : [])));
    }
    expect(await statusOf(home, run)).toBe('running');
    const cancelled = home.world.clock.now();
    await cancelRun(home.worker, run, 'enough');
    await home.settle();
    expect(home.world.clock.now() - cancelled).toBeLessThan(minutes(10));
    expect(await errorOf(home, run)).toMatchObject({
      code: 'rollback_failed',
      details: {
        reason: 'enough',
        rollbackFailures: [{ step: 'hotel', message: 'its rollback was not run to its end: charge is not sleep' }],
      },
    });
    expect(code.begun).toEqual(['hotel#1', 'note#1']);
  });

  test('a deployment that is gone is waited for', async () => {
    const { home, run } = await begun([[fn('a')]]);
    await home.world.deployments.remove(scope, codeManifest('v1').deploymentId, home.world.clock.now());
    await takeAll(home);
    expect((await storyOf(home, run)).at(-1)).toBe('again(.drive.1)');
  });

  test('past its deadline a run has timed out, and its drive is told to end', async () => {
    const { home, run, code } = await begun([[fn('a')]], { body: (_key, _attempt, signal) => whenAborted(signal) });
    const driving = takeAll(home);
    await quiet();
    home.world.clock.advance(days(8));
    await recoverRun(home.worker, run);
    await driving;
    expect(await errorOf(home, run)).toMatchObject({ code: 'deadline_exceeded' });
    expect((await storyOf(home, run)).at(-1)).toMatch(/TIMED OUT$/);
    expect(code.drives).toHaveLength(1);
  });

  test('what cannot be sent is sent when the message comes back', async () => {
    let isDown = false;
    const { home, run } = await begun([[fn('b')], [paid]], {
      wrap: (deps) => ({
        ...deps,
        jobs: replaced(deps.jobs, {
          sendLater: async (job, delay) => {
            if (isDown && job.kind === 'waits') throw new Unavailable('the delay queue');
            return deps.jobs.sendLater(job, delay);
          },
        }),
      }),
    });
    isDown = true;
    const [job] = home.world.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    await expect(home.take(job)).rejects.toThrow(Unavailable);
    isDown = false;
    await home.take(job, { isRedelivered: true });
    await pay(home);
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
  });
});
