/** Planted bugs that only certain faults reveal: throttled stores, reordered messages, partly failed batches and lost responses. */
import type { PlantedBug } from './bug.ts';

const collect = 'lib/service/execution/collect-results.ts';

export const faultDependentBugs: readonly PlantedBug[] = [
  {
    name: 'a put counts as stored after its last refused retry',
    file: 'lib/service/run-log/append.ts',
    find: 'retryUnavailable(clock, put, unknownOutcomeLimits);',
    replace:
      "retryUnavailable(clock, put, unknownOutcomeLimits).catch((error: unknown) => {\n    if (error instanceof Unavailable) return { kind: 'stored' };\n    throw error;\n  });",
    within: 20,
    faultProfile: 'throttled stores',
  },
  {
    name: 'a check counts as scheduled although the write failed',
    file: 'lib/service/commit/mark-due.ts',
    find: 'index.markDue(defined({ run: address, minute: minuteOf(at), isRecordedOnRun: isTest ? true : undefined }));',
    replace:
      'index.markDue(defined({ run: address, minute: minuteOf(at), isRecordedOnRun: isTest ? true : undefined })).catch(() => undefined);',
    within: 100,
    faultProfile: 'throttled stores',
    options: { code: 0, runs: 9 },
  },
  {
    name: 'a batch of results is acknowledged although its effects failed',
    file: collect,
    find: "const appended = facts.length === 0 ? { kind: 'nothing' as const } : await commitFacts(collector, fold, facts);",
    replace:
      "const appended = facts.length === 0 ? { kind: 'nothing' as const } : await commitFacts(collector, fold, facts).catch(() => ({ kind: 'nothing' as const }));",
    within: 60,
    faultProfile: 'parted batches',
    options: { withoutSweep: true, code: 0, runs: 14, isBrisk: true },
  },
  {
    name: 'the collector drops an end that it cannot read',
    file: collect,
    find: 'results.map((result) => readFact(collector, result))',
    replace: 'results.map((result) => readFact(collector, result).catch(() => undefined))',
    scenario: 'the collector cannot read child runs',
    within: 1,
  },
  {
    name: 'each check asks every child run again',
    file: 'lib/engine/log/heartbeat-timeout.ts',
    find: 'const wasCheckedRecently = current !== undefined && now - current.at < recheckInterval(node, current);',
    replace: 'const wasCheckedRecently = false;',
    scenario: 'the collector cannot read many child runs',
    within: 1,
  },
  {
    name: 'a wait that was checked once is never checked again',
    file: 'lib/engine/log/heartbeat-timeout.ts',
    find: 'const wasCheckedRecently = current !== undefined && now - current.at < recheckInterval(node, current);',
    replace: 'const wasCheckedRecently = current !== undefined;',
    within: 1,
    scenario: 'a child run whose end is lost',
  },
  {
    name: 'each check of a node within its heartbeat timeout sends its own recheck',
    file: 'lib/service/execution/recover-run.ts',
    find: ' && !isRecheckPending(heartbeats, now);',
    replace: ';',
    scenario: 'redelivered messages during long work',
    within: 1,
  },
  {
    // A queue that keeps its order hides it: what ended long before comes long before.
    name: 'a late result counts as committed when a later one is',
    file: collect,
    find: 'await readFacts(collector, results);',
    replace:
      "await readFacts(collector, results.filter((result) => !('endedAt' in result) || [...fold.state.nodes.entries()].every(([, node]) => !('endedAt' in node) || node.endedAt < result.endedAt + 5_000)));",
    within: 60,
    faultProfile: 'overtaken messages',
    options: { withoutSweep: true, code: 0, runs: 8, isBrisk: true },
  },
  {
    name: 'unsent messages of a batch count as sent',
    file: 'lib/service/commit/dispatch-effects.ts',
    find: 'return deps.jobs.send(effect.jobs);',
    replace: 'return deps.jobs.send(effect.jobs).catch(() => undefined);',
    within: 20,
    faultProfile: 'parted batches',
    options: { withoutSweep: true, code: 0, isBrisk: true },
  },
  {
    name: 'a redelivered result counts as committed',
    file: collect,
    find: 'if (newest === undefined) return;',
    replace: 'if (newest === undefined || isRedelivered) return;',
    within: 60,
    faultProfile: 'parted batches',
    options: { withoutSweep: true, code: 0, runs: 8, isBrisk: true },
  },
  {
    name: 'a repeated cancel reports that the run ended by itself',
    file: 'lib/service/runs/cancel-run.ts',
    find: '  const waits = signalWaitsOf(fold.state);\n',
    replace:
      "  const waits = signalWaitsOf(fold.state);\n  if (isTerminal(fold.state.progress)) return { kind: 'run_terminal', status: fold.state.progress.status === 'completed' ? 'completed' : 'failed' };\n",
    within: 60,
    faultProfile: 'lost answers',
    options: { runs: 8 },
  },
];
