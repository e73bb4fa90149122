import { describe, expect, it } from 'vitest';
import { type Walk, Specification } from './quint.ts';

const specification = new Specification(new URL('../../model/broken.qnt', import.meta.url).pathname);

/** Takes these steps; the model must allow each. */
function walked(module: string, steps: readonly string[]): Walk {
  const walk = specification.walk(module);
  for (const step of ['init', ...steps]) expect(walk.takes(step), `${step} of ${module}`).toBe(true);
  return walk;
}

const onlyMessage = 'w.queue.fold(noMessage, (_, m) => m)';
const due = 'dueAt(3)';
const started = [
  'startRun(1)',
  `send(1, ${due})`,
  'decideAndPut(1)',
  'landPut(proc(1).pendingPut, true)',
  'receivePutResult(1, false)',
  'send(1, nodeJob("a", 1, 1, 0))',
  'acknowledgeStart(1)',
];
const quietSweep = 'sweepRuns(2)';

// Too rare for a random walk, and each the reason of a rule.
describe('a scenario', () => {
  it('an acknowledged start leaves a due entry, a job and an open head', () => {
    const walk = walked('chaos', started);
    expect(walk.holds('holds')).toBe(true);
    expect(walk.holds('w.due == Set(3) and w.queue.size() == 1 and w.head == "running" and w.isAcknowledged')).toBe(true);
  });

  it('a call that outlives its due entry leaves a run without a check; a short call cannot', () => {
    const steps = ['startRun(1)', `send(1, ${due})`, 'decideAndPut(1)', 'tick'];
    expect(walked('chaos', steps).takes('tick')).toBe(false);
    const late = ['tick', 'tick', quietSweep, quietSweep, quietSweep, 'landPut(proc(1).pendingPut, true)', 'crash(1)'];
    const walk = walked('longCalls', [...steps, ...late]);
    expect(walk.holds('inv5_everyOpenNodeIsReachable')).toBe(false);
    expect(walk.holds('w.sweptUpTo == 3 and hasRun and w.queue == Set()')).toBe(true);
  });

  const cancelled = [
    'cancelRun(1)',
    'readTail(1, 0)',
    'send(1, dueAt(6))',
    'decideAndPut(1)',
    'landPut(proc(1).pendingPut, true)',
    'receivePutResult(1, false)',
    'send(1, effectOf("parent"))',
    'send(1, effectOf("head"))',
    'respondToClient(1)',
  ];
  it.each([
    ['chaos', true],
    ['headReopened', false],
  ])('a sweep that is late to project an open run: %s', (module, holds) => {
    const frozen = ['tick', 'tick', 'tick', quietSweep, quietSweep, 'sweepRuns(2)', 'readTail(2, 0)', 'recoverRun(2)'];
    const sent = [
      'send(2, nodeJob("a", 1, 1, 1))',
      'send(2, { ...noEffect, kind: "heartbeat", node: "a", resend: 1 })',
      'send(2, dueAt(6))',
    ];
    const walk = walked(module, [...started, ...frozen, ...sent, ...cancelled, 'send(2, effectOf("attention"))']);
    expect(walk.holds('inv2_oneEnding and w.head == "RUN_CANCELLED"')).toBe(holds);
  });

  it('a redelivery resends nodes whose heartbeat timed out, and not all open ones', () => {
    const first = 'w.queue.filter(m => m.effect.node == "a").fold(noMessage, (_, m) => m)';
    const steps = [
      ...started,
      `receive(1, ${first}, false)`,
      'readTail(1, 0)',
      'runNode(1, false)',
      'decideAndPut(1)',
      'landPut(proc(1).pendingPut, true)',
      'receivePutResult(1, false)',
      'send(1, nodeJob("w", 1, 2, 0))',
      'crash(1)',
      `receive(2, ${first}, false)`,
      'readTail(2, 0)',
      'runNode(2, false)',
      'recoverRun(2)',
    ];
    const resend = 'send(2, proc(2).pendingEffects.filter(a => a.node == "w").fold(noEffect, (_, a) => a))';
    expect(walked('everythingResent', [...steps, resend]).holds('inv5_noFlood')).toBe(false);
    expect(walked('chaos', steps).holds('proc(2).pendingEffects == Set(recheck)')).toBe(true);
  });

  it('a worker with a crashed worker’s message that loses to its late put sends the effects of that put', () => {
    const steps = [
      `receive(1, ${onlyMessage}, false)`,
      'readTail(1, 0)',
      'runNode(1, false)',
      'decideAndPut(1)',
      'crash(1)',
      `receive(2, ${onlyMessage}, false)`,
      'readTail(2, 0)',
      'runNode(2, false)',
      'decideAndPut(2)',
      'landPut(w.putsInFlight.exclude(Set(proc(2).pendingPut)).fold(noCommit, (_, c) => c), true)',
      'landPut(proc(2).pendingPut, true)',
      'receivePutResult(2, false)',
      'readTail(2, 0)',
      'decideAndPut(2)',
    ];
    expect(walked('lean', steps).takes('deleteMessage(2)')).toBe(false);
    expect(walked('loserSendsNothing', [...steps, 'deleteMessage(2)']).holds('inv5_everyOpenNodeIsReachable')).toBe(false);
    const recovered = walked('lean', [...steps, 'recoverRun(2)', 'send(2, recheck)', 'deleteMessage(2)']);
    expect(recovered.holds('holds')).toBe(true);
  });
});
