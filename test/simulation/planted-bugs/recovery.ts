/** Bugs in what looks after runs: the sweep, redeliveries, nudges and dead letters. */
import type { PlantedBug } from './bug.ts';

const recover = 'lib/service/recover-runs.ts';
const mend = 'lib/service/mend-run.ts';
const silence = 'lib/engine/log/silence.ts';

export const inRecovery: readonly PlantedBug[] = [
  {
    name: 'a minute counts as swept before its runs are looked at',
    file: recover,
    find: '    const due = await deps.index.dueIn(minute);',
    replace: '    const due = await deps.index.dueIn(minute);\n    await deps.index.passMinute(minute);',
    within: 200,
  },
  {
    name: 'a run that could not be looked at is not looked at again',
    file: recover,
    find: 'await deps.index.markDue({ run, minute: Math.max(minuteOf(deps.clock.now()), minute) + 1, isNoted: true });',
    replace: '',
    within: 60,
  },
  {
    name: 'the sweep believes a listing that a run has ended',
    file: recover,
    find: '  const fold = await readRun(deps, run);',
    replace:
      '  const listed = (await deps.index.list(run, { limit: 1 })).heads[0];\n  if (listed === undefined || listed.address.runId !== run.runId) return false;\n  const fold = await readRun(deps, run);',
    within: 60,
  },
  {
    name: 'the last duties of an ended run are not done again',
    file: mend,
    find: 'if (!isDone) await finishRun(deps, fold);',
    replace: 'void [isDone, finishRun];',
    within: 60,
  },
  {
    name: 'a silent node is noted as sent again, and is not',
    file: mend,
    find: 'else await deps.jobs.send([workJob(fold.head, node.dispatchedIn, node, resends)]);',
    replace: 'else void [workJob, resends];',
    scene: 'a dead branch beside one at work',
    within: 1,
  },
  {
    name: 'a sleeper whose alarm was lost is not woken',
    file: mend,
    find: "if (node.status === 'waiting') await deps.jobs.sendLater(wakeJob(fold.head, node.dispatchedIn, node), noDelay);",
    replace: "if (node.status === 'waiting') void noDelay;",
    weather: 'lost alarms',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a run is judged as a whole: one node at work hides the others',
    file: silence,
    find: 'return node !== undefined && isOpen(node) ? [[nodeKey(node), silenceOf(node, byNode.get(key), now)] as const] : [];',
    replace:
      'const newest = signs.toSorted((one, other) => other.at - one.at)[0];\n    return node !== undefined && isOpen(node) ? [[nodeKey(node), silenceOf(node, newest === undefined ? byNode.get(key) : { ...newest, resends: 0 }, now)] as const] : [];',
    scene: 'a dead branch beside one at work',
    within: 1,
  },
  {
    name: 'a node is silent however young it is',
    file: silence,
    find: 'return now - lastLife >= patience ?',
    replace: 'return now - lastLife >= patience - patience ?',
    within: 40,
    weather: 'calm',
  },
  {
    name: 'whatever is outstanding is sent again at each look, under a new name each time',
    file: silence,
    find: 'const resends = current?.resends ?? 0;',
    replace:
      "const resends = current?.resends ?? 0;\n  if (node.status === 'queued' && sign !== undefined) return { kind: 'silent', node, resends };",
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a beat says nothing',
    file: silence,
    find: 'const lastLife = instant(Math.max(expectedAt, current?.at ?? expectedAt));',
    replace: 'const lastLife = expectedAt;\n  void [instant, current?.at];',
    within: 40,
    weather: 'calm',
    options: { code: 1 },
  },
  {
    name: 'silence fails a node',
    file: recover,
    find: "await tellRun(decider, fold, [{ kind: 'recovered', nodes: resent }, { kind: 'deadline-passed' }]);",
    replace:
      "await tellRun(decider, fold, [...resent.flatMap((key) => { const node = fold.state.nodes.get(key); return node !== undefined && 'attempt' in node ? [{ kind: 'node-lost' as const, node, attempt: node.attempt, failure: { cause: 'lost' as const, code: 'recovery_error', message: 'silent' } }] : []; }), { kind: 'deadline-passed' }]);",
    within: 60,
  },
  {
    name: 'a dead letter fails nothing',
    file: 'lib/service/fail-lost-node.ts',
    find: "await tellRun(decider, fold, [{ kind: 'node-lost', node, attempt: message.attempt, failure: lost }]);",
    replace: 'void [tellRun, node, lost];',
    within: 60,
    weather: 'lost deliveries',
    options: { code: 0 },
  },
  {
    name: 'a dead letter fails an attempt that is long over',
    file: 'lib/service/fail-lost-node.ts',
    find: 'attempt: message.attempt, failure: lost }',
    replace:
      "attempt: (() => { const now = fold.state.nodes.get(nodeKey(node)); return now !== undefined && 'attempt' in now ? now.attempt : message.attempt; })(), failure: lost }",
    and: [
      {
        file: 'lib/service/fail-lost-node.ts',
        find: "import { isTerminal } from '../engine/log/fold.ts';",
        replace: "import { nodeKey } from '../engine/ids.ts';\nimport { isTerminal } from '../engine/log/fold.ts';",
      },
    ],
    within: 60,
    weather: 'lost deliveries',
    options: { code: 0 },
  },
  {
    name: 'a redelivered job mends nothing, and nobody sweeps',
    file: 'lib/service/run-node.ts',
    find: "if (delivery.isRedelivered) await mendAndHandOn(worker, fold);\n  } else if (open.status === 'queued'",
    replace: "} else if (open.status === 'queued'",
    within: 60,
    weather: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'a sweep asks its clock alone for the next minute to look at a run',
    file: recover,
    find: 'minute: Math.max(minuteOf(deps.clock.now()), minute) + 1',
    replace: 'minute: minuteOf(deps.clock.now()) + 1',
    within: 100,
    weather: 'jumping clocks',
    options: { code: 1 },
  },
  {
    name: 'an attempt goes on beyond its time limit',
    file: 'lib/service/watch-attempt.ts',
    find: 'const left = node.policy.timeoutMs + graceMs',
    replace: 'const left = node.policy.timeoutMs * 100 + graceMs',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a worker begins what it cannot end in its time',
    file: 'lib/service/run-node.ts',
    find: 'if (left < wait + timeLimit(plan, next) + reserveMs) {',
    replace: 'if (left + timeLimit(plan, next) < reserveMs) {',
    within: 200,
    weather: 'calm',
    options: { code: 0, runs: 8 },
  },
  {
    name: 'the sweep does not see that a deadline has passed',
    file: recover,
    find: "if (isLate) await tellRun(decider, fold, [{ kind: 'deadline-passed' }]);",
    replace: 'void isLate;',
    and: [
      {
        file: recover,
        find: 'if (resent.length > 0 || deps.clock.now() >= fold.head.deadlineAt) {',
        replace: 'if (resent.length > 0) {',
      },
    ],
    within: 60,
  },
  {
    name: 'a run is not looked at when its deadline comes',
    file: silence,
    find: 'const looks: Instant[] = [deadlineAt];',
    replace: 'const looks: Instant[] = [];\n  void deadlineAt;',
    within: 60,
    weather: 'calm',
    options: { code: 0, runs: 8 },
  },
  {
    name: 'a sleeper whose alarm was lost is looked at half a day later',
    file: silence,
    find: 'const timerGrace: DurationMs = seconds(60);',
    replace: 'const timerGrace: DurationMs = hours(12);',
    within: 60,
    weather: 'lost alarms',
    options: { code: 0, runs: 8 },
  },
];
