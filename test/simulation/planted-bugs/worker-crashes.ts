/** Planted bugs in the count of worker crashes and in deadlines: attempts that kill workers, crash storms, and time. */
import type { PlantedBug } from './bug.ts';

const deliveries = 'lib/engine/log/deliveries.ts';
const admit = 'lib/service/execution/admit-attempt.ts';
const deadline = 'lib/service/commit/deadline.ts';

/** A sixth of all nodes and steps kill the worker that begins them. */
const poison = { faultProfile: 'none', options: { poison: 0.15 } } as const;
/** Two in five attempts spend their first slices, and groups of messages are shared. */
const slow = { options: { code: 0.1, slowScripts: 0.4, shares: { slow: 5 } } } as const;
/** Messages are late or come twice, so that an attempt that begins twice has no other reason. */
const late = { faultProfile: 'late messages', options: { runs: 6 } } as const;
const storm = { faultProfile: 'none', options: { isCrashStorm: true } } as const;

export const workerCrashBugs: readonly PlantedBug[] = [
  {
    name: 'no number of worker crashes ends an attempt',
    file: deliveries,
    find: 'return isLost ? failureOfDeliveries(counted) : undefined;',
    replace: 'return isLost && counted.length > 99 ? failureOfDeliveries(counted) : undefined;',
    within: 10,
    ...poison,
  },
  {
    name: 'a resent attempt does not record its begin',
    file: admit,
    find: 'const isStored = await deps.log.replaceHeartbeat(address, storedHeartbeatOf(open, heartbeats), record, expiresAt);',
    replace: 'const isStored = true;\n  void [storedHeartbeatOf, record, expiresAt];',
    within: 20,
    ...poison,
  },
  {
    name: 'sending a job again resets its count of worker crashes',
    file: 'lib/service/execution/recover-run.ts',
    find: '{ ...liveness.heartbeat, node: key, at: now, resends }',
    replace: '{ node: key, at: now, resends }',
    within: 20,
    ...poison,
  },
  {
    name: 'a worker does not count the crash of the previous worker',
    file: admit,
    find: 'const deliveries = isLost ? await recordCrash(decider, fold, open, known, now) : known;',
    replace:
      'const deliveries = isLost && known.begun === undefined ? await recordCrash(decider, fold, open, known, now) : known;',
    within: 20,
    ...poison,
  },
  {
    name: 'the redelivery delay of an attempt grows without a limit',
    file: deliveries,
    find: 'const pause = backoffMs({ baseMs: minRedeliveryPause, maxMs: maxRedeliveryPause }, lost.length);',
    replace: 'const pause = minRedeliveryPause * 12 ** (lost.length - 1);',
    within: 40,
    ...poison,
  },
  {
    name: 'after a worker crash, steps start before their commit',
    file: 'lib/program/live-execution.ts',
    find: 'if (draft.canOverlapCommit && this.#context.task.shouldCommitBeforeSteps !== true)',
    replace: 'if (draft.canOverlapCommit)',
    within: 120,
    ...poison,
  },
  {
    name: 'a lost workflow task does not fail its running steps',
    file: 'lib/engine/durable/workflow-task.ts',
    find: '  failSteps(draft, workflowTask, steps, { failure, startedAt: workflowTask.dispatchedAt, endedAt: now });\n  return true;',
    replace:
      '  endWorkflowTask(draft, workflowTask, { startedAt: workflowTask.dispatchedAt, endedAt: now });\n  requestWorkflowTask(draft);\n  return true;',
    within: 40,
    ...poison,
  },
  {
    name: 'a second worker crash ends an attempt before the crash window ends',
    file: deliveries,
    find: 'const exceedsWindow = first !== undefined && between(first.noticedAt, now) >= crashWindow;',
    replace: 'const exceedsWindow = first !== undefined;',
    within: 40,
    ...storm,
  },
  {
    name: 'three worker crashes end an attempt at once',
    file: deliveries,
    find: 'const isLost =\n    crashes.length >= maxCrashes ||',
    replace: 'const isLost = crashes.length >= maxCrashesInWindow ||',
    within: 60,
    ...storm,
  },
  {
    name: 'an attempt is redelivered without a delay after a worker crash',
    file: deliveries,
    find: 'const minRedeliveryPause: DurationMs = seconds(100);',
    replace: 'const minRedeliveryPause: DurationMs = seconds(1);',
    within: 60,
    ...storm,
  },
  {
    name: 'a late first message begins its attempt without a record',
    file: admit,
    find: 'rivals.length === 0 && !mustRecordBegin(open, now))',
    replace: 'rivals.length === 0 && (mustRecordBegin(open, now) || true))',
    within: 60,
    faultProfile: 'late messages',
    options: { runs: 8 },
  },
  {
    name: 'two copies of a delayed message both begin its attempt',
    file: admit,
    find: '(!isDelayed && rivals.length === 0 && !mustRecordBegin(open, now))',
    replace: '(rivals.length === 0 && (isDelayed || !mustRecordBegin(open, now)))',
    within: 60,
    ...late,
  },
  {
    name: 'the record of a begin replaces the record of another begin',
    file: admit,
    find: 'const isStored = await deps.log.replaceHeartbeat(address, storedHeartbeatOf(open, heartbeats), record, expiresAt);',
    replace:
      'await deps.log.heartbeat(address, record, expiresAt);\n  const isStored = storedHeartbeatOf(open, heartbeats) !== record;',
    within: 60,
    ...late,
  },
  {
    name: 'an attempt gets a first slice in the slow queue too',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: 'worker.deps.settings.shares === undefined || isSlow ? undefined : slice;',
    replace: 'worker.deps.settings.shares === undefined ? undefined : slice;',
    within: 10,
    ...slow,
    faultProfile: 'none',
  },
  {
    name: 'an attempt that used up its first slice is not sent again',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: 'await deps.jobs.send([{ ...nodeJob(fold.head, open.dispatchedIn, open, resend), slowLane: lane }]);',
    replace: 'void [nodeJob, resend, lane];',
    within: 10,
    ...slow,
    faultProfile: 'none',
  },
  {
    name: 'a graph run continues past its deadline',
    file: 'lib/engine/graph/decide.ts',
    find: 'if (facts.length > 0 && mustEndAtDeadline(draft)) endRun(',
    replace: "if (facts.some(({ kind }) => kind === 'deadline-passed') && mustEndAtDeadline(draft)) endRun(",
    within: 200,
    options: { code: 0, runs: 24 },
  },
  {
    name: 'no recheck is sent for the deadline of a waiting run',
    file: deadline,
    find: 'if (remaining > 0 && remaining <= within) await sendRecheck(deps, head, remaining);',
    replace: 'void [remaining, within, sendRecheck];',
    within: 200,
    faultProfile: 'none',
  },
];
