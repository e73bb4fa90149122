import { describe, expect, it } from 'vitest';
import { type Walk, Specification } from './quint.ts';

const specification = new Specification(new URL('../../model/broken.qnt', import.meta.url).pathname);

/** Takes all of these steps, each of which must be allowed. */
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
  'land(proc(1).asked, true)',
  'answer(1, false)',
  'send(1, nodeJob("a", 1, 1, 0))',
  'acknowledgeStart(1)',
];
const quietSweep = 'recoverRuns(2)';

// Too rare for a walk by chance, and each the reason of a rule.
describe('a scenario of its own', () => {
  it('a start that is acknowledged leaves a due entry, a job and an open head', () => {
    const walk = walked('weather', started);
    expect(walk.holds('holds')).toBe(true);
    expect(walk.holds('w.due == Set(3) and w.queue.size() == 1 and w.head == "running" and w.isAcknowledged')).toBe(true);
  });

  it('a call that outlives its due entry makes a run that nobody looks at; one that is short cannot', () => {
    const steps = ['startRun(1)', `send(1, ${due})`, 'decideAndPut(1)', 'tick'];
    expect(walked('weather', steps).takes('tick')).toBe(false);
    const late = ['tick', 'tick', quietSweep, quietSweep, quietSweep, 'land(proc(1).asked, true)', 'crash(1)'];
    const walk = walked('longCalls', [...steps, ...late]);
    expect(walk.holds('inv5_everyOpenNodeWillBeSeen')).toBe(false);
    expect(walk.holds('w.swept == 3 and hasRun and w.queue == Set()')).toBe(true);
  });

  const cancelled = [
    'cancelRun(1)',
    'readTail(1, 0)',
    'send(1, nudge)',
    'decideAndPut(1)',
    'land(proc(1).asked, true)',
    'answer(1, false)',
    'send(1, lookAt("parent"))',
    'send(1, lookAt("head"))',
    'answerClient(1)',
  ];
  it.each([
    ['weather', true],
    ['headReopened', false],
  ])('a sweep that is slow to say that a run is open: %s', (module, isKept) => {
    const frozen = ['tick', 'tick', 'tick', quietSweep, quietSweep, 'recoverRuns(2)', 'readTail(2, 0)', 'mendRun(2)'];
    const sent = [
      'send(2, nodeJob("a", 1, 1, 1))',
      'send(2, { ...noAsk, kind: "beat", node: "a", resend: 1 })',
      'send(2, dueAt(6))',
    ];
    const walk = walked(module, [...started, ...frozen, ...sent, ...cancelled, 'send(2, lookAt("attention"))']);
    expect(walk.holds('inv2_oneEnding and w.head == "RUN_CANCELLED"')).toBe(isKept);
  });

  it('a redelivery sends again what is silent, and not all that is outstanding', () => {
    const first = 'w.queue.filter(m => m.ask.node == "a").fold(noMessage, (_, m) => m)';
    const steps = [
      ...started,
      `receive(1, ${first}, false)`,
      'readTail(1, 0)',
      'runNode(1, false)',
      'decideAndPut(1)',
      'land(proc(1).asked, true)',
      'answer(1, false)',
      'send(1, nodeJob("w", 1, 2, 0))',
      'crash(1)',
      `receive(2, ${first}, false)`,
      'readTail(2, 0)',
      'runNode(2, false)',
      'mendRun(2)',
    ];
    const again = 'send(2, proc(2).owes.filter(a => a.node == "w").fold(noAsk, (_, a) => a))';
    expect(walked('everythingSentAgain', [...steps, again]).holds('inv5_noFlood')).toBe(false);
    expect(walked('weather', steps).holds('proc(2).owes == Set(nudge)')).toBe(true);
  });

  it('whoever has a dead worker’s message, and loses to its late put, sends what that put asks for', () => {
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
      'land(w.flying.exclude(Set(proc(2).asked)).fold(noCommit, (_, c) => c), true)',
      'land(proc(2).asked, true)',
      'answer(2, false)',
      'readTail(2, 0)',
      'decideAndPut(2)',
    ];
    expect(walked('lean', steps).takes('deleteMessage(2)')).toBe(false);
    expect(walked('loserSendsNothing', [...steps, 'deleteMessage(2)']).holds('inv5_everyOpenNodeWillBeSeen')).toBe(false);
    const mended = walked('lean', [...steps, 'mendRun(2)', 'send(2, nudge)', 'deleteMessage(2)']);
    expect(mended.holds('holds')).toBe(true);
  });
});
