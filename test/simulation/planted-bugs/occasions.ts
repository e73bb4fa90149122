/** Bugs that a calm world hides: stores that are asked too much, messages that overtake each other, batches that fail in part, clients that hear nothing. */
import type { PlantedBug } from './bug.ts';

const collect = 'lib/service/collect-results.ts';

export const inOccasions: readonly PlantedBug[] = [
  {
    name: 'a put that is refused for longer than it is tried counts as written',
    file: 'lib/service/append.ts',
    find: 'if (!(trouble instanceof Unavailable) || tried === mostPuts) throw trouble;',
    replace: "if (!(trouble instanceof Unavailable)) throw trouble;\n      if (tried === mostPuts) return { kind: 'stored' };",
    within: 20,
    weather: 'throttled stores',
  },
  {
    name: 'a look that could not be noted counts as noted',
    file: 'lib/service/mark-due.ts',
    find: 'index.markDue({ run: head.address, minute: minuteOf(at), ...(isTestRun(head) ? { isNoted: true } : {}) });',
    replace:
      'index.markDue({ run: head.address, minute: minuteOf(at), ...(isTestRun(head) ? { isNoted: true } : {}) }).catch(() => undefined);',
    within: 100,
    weather: 'throttled stores',
    options: { code: 0, runs: 8 },
  },
  {
    name: 'a batch of results whose decision could not be carried out counts as done',
    file: collect,
    find: "const appended = facts.length === 0 ? { kind: 'nothing' as const } : await tell(collector, fold, facts);",
    replace:
      "const appended = facts.length === 0 ? { kind: 'nothing' as const } : await tell(collector, fold, facts).catch(() => ({ kind: 'nothing' as const }));",
    within: 60,
    weather: 'parted batches',
    options: { withoutSweep: true, code: 0, runs: 8, isBrisk: true },
  },
  {
    name: 'of several ends that are collected one that cannot be read is passed over',
    file: collect,
    find: 'results.map((result) => factOf(collector, result))',
    replace: 'results.map((result) => factOf(collector, result).catch(() => undefined))',
    scene: 'ends that nobody can collect',
    within: 1,
  },
  {
    name: 'each look asks after every call anew',
    file: 'lib/engine/log/silence.ts',
    find: 'const isAskedAfter = current !== undefined && now - current.at < unaskedFor(node, current);',
    replace: 'const isAskedAfter = false;',
    scene: 'many calls that nobody can collect',
    within: 1,
  },
  {
    name: 'what was asked after once is not asked after again',
    file: 'lib/engine/log/silence.ts',
    find: 'const isAskedAfter = current !== undefined && now - current.at < unaskedFor(node, current);',
    replace: 'const isAskedAfter = current !== undefined;',
    within: 120,
    options: { code: 0, runs: 8, isStormy: true },
  },
  {
    name: 'whoever finds a node young leaves a look of its own',
    file: 'lib/service/mend-run.ts',
    find: 'return { resent, wantsLook: isAnyYoung && !isLookToCome(signs, now) };',
    replace: 'return { resent, wantsLook: isAnyYoung };',
    scene: 'messages that come back beside long work',
    within: 1,
  },
  {
    // A queue that keeps its order hides it: what ended long before comes long before.
    name: 'a result that comes long behind one of a node that ended later counts as seen',
    file: collect,
    find: 'await factsOf(collector, results);',
    replace:
      "await factsOf(collector, results.filter((result) => !('endedAt' in result) || [...fold.state.nodes.entries()].every(([, node]) => !('endedAt' in node) || node.endedAt < result.endedAt + 5_000)));",
    within: 60,
    weather: 'overtaken messages',
    options: { withoutSweep: true, code: 0, runs: 8, isBrisk: true },
  },
  {
    name: 'what a queue has not taken of several messages counts as sent',
    file: 'lib/service/carry-out.ts',
    find: 'if (now.length > 0) await deps.jobs.send(now);',
    replace: 'if (now.length > 0) await deps.jobs.send(now).catch(() => undefined);',
    within: 20,
    weather: 'parted batches',
    options: { withoutSweep: true, code: 0, isBrisk: true },
  },
  {
    name: 'a result that comes back counts as decided',
    file: collect,
    find: 'if (newest === undefined) return;',
    replace: 'if (newest === undefined || isRedelivered) return;',
    within: 60,
    weather: 'parted batches',
    options: { withoutSweep: true, code: 0, runs: 8, isBrisk: true },
  },
  {
    name: 'whoever asks again to cancel a run is told that it had ended by itself',
    file: 'lib/service/cancel-run.ts',
    find: '  const waits = signalWaitsOf(fold.state);\n',
    replace:
      "  const waits = signalWaitsOf(fold.state);\n  if (isTerminal(fold.state.progress)) return { kind: 'run_terminal', status: fold.state.progress.status === 'completed' ? 'completed' : 'failed' };\n",
    within: 60,
    weather: 'lost answers',
    options: { runs: 8 },
  },
];
