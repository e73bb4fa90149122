/** Bugs in how deaths of workers are counted and how deadlines end runs: attempts that kill workers, storms of crashes, and time. */
import type { PlantedBug } from './bug.ts';

const deliveries = 'lib/engine/log/deliveries.ts';
const admit = 'lib/service/execution/admit-attempt.ts';
const deadline = 'lib/service/commit/deadline.ts';

/** A sixth of all nodes and steps kill the worker that begins them. */
const poison = { faultProfile: 'none', options: { poison: 0.15 } } as const;
/** Two in five attempts spend their first slices, and groups of messages are shared. */
const slow = { options: { code: 0.1, slowScripts: 0.4, shares: { slow: 5 } } } as const;
const storm = { faultProfile: 'none', options: { isCrashStorm: true } } as const;

export const workerCrashBugs: readonly PlantedBug[] = [
  {
    name: 'no number of deaths ends an attempt',
    file: deliveries,
    find: 'return isLost ? failureOfDeliveries(counted) : undefined;',
    replace: 'return isLost && counted.length > 99 ? failureOfDeliveries(counted) : undefined;',
    within: 10,
    ...poison,
  },
  {
    name: 'an attempt that was sent again does not record that it begins',
    file: admit,
    find: '  await writeHeartbeat(deps, fold, open, { at: now, resends, deliveries: begun });\n  return',
    replace: '  return',
    within: 20,
    ...poison,
  },
  {
    name: 'whoever sends a job again forgets the deaths of its workers',
    file: 'lib/service/execution/recover-run.ts',
    find: '{ ...liveness.heartbeat, node: key, at: now, resends }',
    replace: '{ node: key, at: now, resends }',
    within: 20,
    ...poison,
  },
  {
    name: 'the worker that dies is not noticed by the next one',
    file: admit,
    find: 'const deliveries = isLost ? await recordCrash(deps, fold, open, known, now) : known;',
    replace: 'const deliveries = isLost && known.begun === undefined ? await recordCrash(deps, fold, open, known, now) : known;',
    within: 20,
    ...poison,
  },
  {
    name: 'the pause before an attempt is delivered again grows without end',
    file: deliveries,
    find: 'const pause = Math.min(maxRedeliveryPause, minRedeliveryPause * 2 ** (lost.length - 1));',
    replace: 'const pause = minRedeliveryPause * 12 ** (lost.length - 1);',
    within: 40,
    ...poison,
  },
  {
    name: 'steps begin before their commit though a worker has died',
    file: 'lib/program/live-execution.ts',
    find: 'if (draft.canOverlapCommit && this.#context.task.shouldCommitBeforeSteps !== true)',
    replace: 'if (draft.canOverlapCommit)',
    within: 120,
    ...poison,
  },
  {
    name: 'the steps at work are not failed with the workflow task that is lost with them',
    file: 'lib/engine/durable/crash-workflow-task.ts',
    find: '  failSteps(draft, workflowTask, steps, { failure, startedAt: workflowTask.dispatchedAt, endedAt: now });\n  return true;',
    replace:
      '  endWorkflowTask(draft, workflowTask, { startedAt: workflowTask.dispatchedAt, endedAt: now });\n  requestWorkflowTask(draft);\n  return true;',
    within: 40,
    ...poison,
  },
  {
    name: 'losses of which nothing is known end an attempt at once',
    file: deliveries,
    find: 'const exceedsWindow = first !== undefined && between(first.noticedAt, now) >= crashWindow;',
    replace: 'const exceedsWindow = first !== undefined;',
    within: 40,
    ...storm,
  },
  {
    name: 'three deaths end an attempt at once',
    file: deliveries,
    find: 'const isLost =\n    crashes.length >= maxCrashes ||',
    replace: 'const isLost = crashes.length >= maxCrashesInWindow ||',
    within: 60,
    ...storm,
  },
  {
    name: 'an attempt whose worker died is delivered again at once',
    file: deliveries,
    find: 'const minRedeliveryPause: DurationMs = seconds(100);',
    replace: 'const minRedeliveryPause: DurationMs = seconds(1);',
    within: 60,
    ...storm,
  },
  {
    name: 'an attempt is given a first slice in the slow lane, too',
    file: 'lib/service/execution/run-node.ts',
    find: 'worker.deps.settings.shares === undefined || isSlow ? undefined : overran.has(node)',
    replace: 'worker.deps.settings.shares === undefined ? undefined : overran.has(node)',
    within: 10,
    ...slow,
    faultProfile: 'none',
  },
  {
    name: 'an attempt that spent its first slice is left to the sweep',
    file: 'lib/service/execution/run-node.ts',
    find: 'await deps.jobs.send([{ ...nodeJob(fold.head, open.dispatchedIn, open, resend), slowLane: lane }]);',
    replace: 'void [nodeJob, resend, lane];',
    within: 10,
    ...slow,
    faultProfile: 'none',
  },
  {
    name: 'a graph run goes on past its deadline',
    file: 'lib/engine/graph/decide.ts',
    find: 'if (facts.length > 0 && tools.now >= tools.deadlineAt && !hasEnded(draft)) timeOut(draft);',
    replace:
      "if (facts.some(({ kind }) => kind === 'deadline-passed') && tools.now >= tools.deadlineAt && !hasEnded(draft)) timeOut(draft);",
    within: 200,
    options: { code: 0 },
  },
  {
    name: 'no recheck is left for the deadline of a run that waits',
    file: deadline,
    find: 'if (remaining > 0 && remaining <= within) await sendRecheck(deps, head, remaining);',
    replace: 'void [remaining, within, sendRecheck];',
    within: 200,
    faultProfile: 'none',
  },
];
