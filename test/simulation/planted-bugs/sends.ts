/**
 * Planted bugs in the messages sent after a commit. Without faults and without the sweep, a run depends on these messages
 * alone.
 */
import type { PlantedBug } from './bug.ts';

const effects = 'lib/service/commit/effects.ts';
const finishRun = 'lib/service/commit/finalize-run.ts';
const runEvents = 'lib/engine/run-events.ts';
const runNode = 'lib/service/kinds/graph/run-node.ts';
const alone = { faultProfile: 'none', options: { withoutSweep: true } } as const;

export const sendBugs: readonly PlantedBug[] = [
  {
    name: 'a dispatched node is not sent',
    file: effects,
    find: "if (readyJobs.length > 0) effects.push({ kind: 'send-jobs', jobs: readyJobs });",
    replace: '',
    within: 10,
    ...alone,
  },
  {
    name: 'only the first of several dispatched nodes is sent',
    file: effects,
    find: 'jobs: readyJobs });',
    replace: 'jobs: readyJobs.slice(0, 1) });',
    within: 20,
    ...alone,
  },
  {
    name: 'a delay has no timer',
    file: effects,
    find: "case 'SLEEP_STARTED':\n",
    replace: "case 'SLEEP_STARTED':\n      return [];\n",
    within: 20,
    ...alone,
  },
  {
    name: 'a retry is recorded and not sent',
    file: effects,
    find: "case 'NODE_RETRIED': {\n      if (event.via === 'inline') return [];",
    replace: "case 'NODE_RETRIED': {\n      if (event.attempt >= 1) return [];",
    within: 40,
    ...alone,
  },
  {
    name: 'a retry is sent with the number of the failed attempt',
    file: effects,
    find: 'attempt: attempt(event.attempt + 1)',
    replace: 'attempt: attempt(event.attempt)',
    within: 40,
    ...alone,
  },
  {
    name: 'a wait for a signal has no expiry timer',
    file: effects,
    find: "case 'SIGNAL_AWAITED':\n      return event.expiresAt === undefined ? []",
    replace: "case 'SIGNAL_AWAITED':\n      return event.nodeId.length > 0 ? []",
    within: 60,
    ...alone,
  },
  {
    name: 'a child run is not requested',
    file: effects,
    find: 'if (event.expiresAt === undefined) return [call];\n      return [call, {',
    replace: 'if (event.expiresAt === undefined) return [];\n      return [{',
    within: 20,
    ...alone,
  },
  {
    name: 'a pause of a loop has no timer',
    file: effects,
    find: "case 'LOOP_PAUSED':\n",
    replace: "case 'LOOP_PAUSED':\n      if (event.type === 'LOOP_PAUSED') return [];\n",
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
    file: effects,
    find: "    effects.push({ kind: 'finalize', fold });",
    replace: '    return effects;',
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
    // The job of an earlier attempt is also a job of an earlier commit, which the worker refuses.
    and: [
      {
        file: runNode,
        find: 'const open = found?.dispatchedIn === job.commit ? found : undefined;',
        replace: 'const open = found;',
      },
    ],
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
  {
    name: 'the end of a run is published although the owner did not ask for it',
    file: runEvents,
    find: '!isTestRun(run) && includesStatus(level, status);',
    replace: "!isTestRun(run) && status !== 'running';",
    within: 10,
    faultProfile: 'none',
    options: { runEvents: 'failed' },
  },
  {
    name: 'a run that fails is not published',
    file: runEvents,
    find: "failed: ['failed'],",
    replace: "failed: ['cancelled'],",
    within: 60,
    options: { runEvents: 'failed' },
  },
  {
    name: 'the end of a run is published only after its head shows it',
    file: finishRun,
    find: 'await notifyEnd(deps, head, progress.status, progress.endedAt);',
    replace: '',
    and: [
      {
        file: finishRun,
        find: 'await deps.log.project(head.address, end, head.expiresAt);',
        replace:
          'await deps.log.project(head.address, end, head.expiresAt);\n  await notifyEnd(deps, head, progress.status, progress.endedAt);',
      },
    ],
    within: 60,
    options: { runEvents: 'ended' },
  },
];
