/**
 * Planted bugs in the messages sent after a commit. Without faults and without the sweep, a run depends on these messages
 * alone.
 */
import type { PlantedBug } from './bug.ts';

const carryOut = 'lib/service/commit/dispatch-effects.ts';
const finishRun = 'lib/service/commit/finalize-run.ts';
const runNode = 'lib/service/kinds/graph/run-node.ts';
const alone = { faultProfile: 'none', options: { withoutSweep: true } } as const;

export const sendBugs: readonly PlantedBug[] = [
  {
    name: 'a dispatched node is not sent',
    file: carryOut,
    find: 'if (immediateJobs.length > 0) await deps.jobs.send(immediateJobs);',
    replace: '',
    within: 10,
    ...alone,
  },
  {
    name: 'only the first of several dispatched nodes is sent',
    file: carryOut,
    find: 'await deps.jobs.send(immediateJobs);',
    replace: 'await deps.jobs.send(immediateJobs.slice(0, 1));',
    within: 20,
    ...alone,
  },
  {
    name: 'a delay has no timer',
    file: carryOut,
    find: "case 'SLEEP_STARTED':\n        hasNewWaits = true;\n        await sendJobAt(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));",
    replace: "case 'SLEEP_STARTED':\n        hasNewWaits = true;",
    within: 20,
    ...alone,
  },
  {
    name: 'a retry is recorded and not sent',
    file: carryOut,
    find: "case 'NODE_RETRIED':\n        if (event.via !== 'inline') {",
    replace: "case 'NODE_RETRIED':\n        if (event.attempt < 1) {",
    within: 40,
    ...alone,
  },
  {
    name: 'a retry is sent with the number of the failed attempt',
    file: carryOut,
    find: 'attempt: attempt(event.attempt + 1)',
    replace: 'attempt: attempt(event.attempt)',
    within: 40,
    ...alone,
  },
  {
    name: 'a wait for a signal has no expiry timer',
    file: carryOut,
    find: 'hasNewWaits = true;\n        if (event.expiresAt !== undefined) await sendJobAt(deps, event.expiresAt, wakeJob(fold.head, commit.number, event));',
    replace: 'hasNewWaits = true;',
    within: 60,
    ...alone,
  },
  {
    name: 'a child run is not requested',
    file: carryOut,
    find: 'await deps.jobs.sendDelayed(childJob(fold.head, event, event.childRunId), noDelay);',
    replace: 'void noDelay;',
    within: 20,
    ...alone,
  },
  {
    name: 'a pause of a loop has no timer',
    file: carryOut,
    find: "case 'LOOP_PAUSED':\n        await sendJobAt(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));",
    replace: "case 'LOOP_PAUSED':",
    within: 60,
    ...alone,
  },
  {
    name: 'the timer of a loop names an earlier pause',
    file: 'lib/engine/log/fold-loop.ts',
    find: '        dispatchedIn: stamp.commit,\n        dispatchedAt: stamp.at,\n        loop: { ...loop, wakeAt: event.wakeAt },',
    replace: '        loop: { ...loop, wakeAt: event.wakeAt },',
    within: 60,
    ...alone,
  },
  {
    name: 'an ended run is not finalized',
    file: carryOut,
    find: 'if (isTerminal(fold.state.progress)) return finalizeRun(deps, fold);',
    replace: 'if (isTerminal(fold.state.progress)) return;',
    within: 5,
    ...alone,
  },
  {
    name: 'the end of a run is not projected to its head',
    file: finishRun,
    find: 'await deps.log.project(',
    replace: 'await (async (..._ignored: unknown[]) => {})(',
    within: 5,
  },
  {
    name: 'a parent does not check its child run itself',
    file: 'lib/service/execution/recover-run.ts',
    find: 'if (isChildWait) await deps.jobs.sendDelayed(childJob(head, node, node.childRunId), noDelay);',
    replace: '',
    within: 60,
    options: { code: 1, runs: 8 },
  },
  {
    name: 'a parent is not notified of the end of its child run',
    file: finishRun,
    find: 'if (caller !== undefined) {',
    replace: 'if (caller !== undefined && caller.depth < 0) {',
    within: 20,
    ...alone,
  },
  {
    name: 'a duplicate delivery runs the node again',
    file: runNode,
    find: "isOpen(node) && node.status !== 'waiting' && node.attempt === job.attempt ? node : undefined",
    replace: "isOpen(node) && node.status !== 'waiting' ? node : undefined",
    within: 60,
    faultProfile: 'stragglers',
    options: { code: 0 },
  },
  {
    name: 'a worker drops the jobs that it has to run itself',
    file: runNode,
    find: 'commit = await recordingAttemptErrors(worker, fold, next, act);',
    replace: 'commit = undefined;',
    within: 10,
    ...alone,
  },
  {
    name: 'a job is acknowledged while its node is running',
    file: runNode,
    find: "    else if (admission.kind === 'begins')\n      await runChain(",
    replace:
      "    else if (admission.kind === 'begins') void ((...given: Parameters<typeof runChain>) => runChain(...given).catch(() => undefined))(",
    within: 60,
    faultProfile: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'a result is not sent to the collector',
    file: runNode,
    find: 'await deps.jobs.sendResult({\n    ...originFields(fold.head),\n    commit: open.dispatchedIn,\n    ...node,\n    ...times,\n    outcome: offloadedOutcome,\n  });',
    replace: 'void [originFields, fold, open, node, times, offloadedOutcome];',
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'the collector commits only the first result of a batch',
    file: 'lib/service/execution/collect-results.ts',
    find: 'results.map((result) => readFact(collector, result))',
    replace: 'results.slice(0, 1).map((result) => readFact(collector, result))',
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true, code: 0 },
  },
];
