/** Bugs in how deaths of workers are counted and how deadlines end runs: attempts that kill workers, storms of crashes, and time. */
import type { PlantedBug } from './bug.ts';

const deliveries = 'lib/engine/log/deliveries.ts';
const admit = 'lib/service/admit-attempt.ts';
const deadline = 'lib/service/deadline.ts';

/** A sixth of all nodes and steps kill the worker that begins them. */
const poison = { weather: 'calm', options: { poison: 0.15 } } as const;
/** Two in five attempts spend their first slices, and groups of messages are shared. */
const slow = { options: { code: 0.1, slowScripts: 0.4, shares: { slow: 5 } } } as const;
const storm = { weather: 'calm', options: { isStormy: true } } as const;

export const inDeaths: readonly PlantedBug[] = [
  {
    name: 'no number of deaths ends an attempt',
    file: deliveries,
    find: 'return isOver ? lostFailure(counted) : undefined;',
    replace: 'return isOver && counted.length > 99 ? lostFailure(counted) : undefined;',
    within: 10,
    ...poison,
  },
  {
    name: 'an attempt that was sent again does not record that it begins',
    file: admit,
    find: '  await keep(deps, fold, open, { at: now, resends, deliveries: begun });\n  return',
    replace: '  return',
    within: 20,
    ...poison,
  },
  {
    name: 'whoever sends a job again forgets the deaths of its workers',
    file: 'lib/service/mend-run.ts',
    find: '{ ...silence.sign, node: key, at: now, resends }',
    replace: '{ node: key, at: now, resends }',
    within: 20,
    ...poison,
  },
  {
    name: 'the worker that dies is not noticed by the next one',
    file: admit,
    find: 'const deliveries = isLost ? await lose(deps, fold, open, known, now) : known;',
    replace: 'const deliveries = isLost && known.begun === undefined ? await lose(deps, fold, open, known, now) : known;',
    within: 20,
    ...poison,
  },
  {
    name: 'the pause before an attempt is delivered again grows without end',
    file: deliveries,
    find: 'const pause = Math.min(longestPause, firstPause * 2 ** (lost.length - 1));',
    replace: 'const pause = firstPause * 12 ** (lost.length - 1);',
    within: 40,
    ...poison,
  },
  {
    name: 'steps begin before their commit though a worker has died',
    file: 'lib/program/live.ts',
    find: 'if (draft.mayOverlap && this.#going.task.commitsFirst !== true)',
    replace: 'if (draft.mayOverlap)',
    within: 120,
    ...poison,
  },
  {
    name: 'the steps at work are not failed with the workflow task that is lost with them',
    file: 'lib/engine/durable/break-drive.ts',
    find: '  failSteps(draft, drive, steps, { failure, startedAt: drive.dispatchedAt, endedAt: now });\n  return true;',
    replace: '  endDrive(draft, drive, { startedAt: drive.dispatchedAt, endedAt: now });\n  askForDrive(draft);\n  return true;',
    within: 40,
    ...poison,
  },
  {
    name: 'losses of which nothing is known end an attempt at once',
    file: deliveries,
    find: 'const isLong = first !== undefined && between(first.noticedAt, now) >= longestDying;',
    replace: 'const isLong = first !== undefined;',
    within: 40,
    ...storm,
  },
  {
    name: 'three deaths end an attempt at once',
    file: deliveries,
    find: 'const isOver = deaths.length >= mostDeaths ||',
    replace: 'const isOver = deaths.length >= mostDeathsInTime ||',
    within: 60,
    ...storm,
  },
  {
    name: 'an attempt whose worker died is delivered again at once',
    file: deliveries,
    find: 'const firstPause: DurationMs = seconds(100);',
    replace: 'const firstPause: DurationMs = seconds(1);',
    within: 60,
    ...storm,
  },
  {
    name: 'an attempt is given a first slice in the slow lane, too',
    file: 'lib/service/run-node.ts',
    find: 'worker.deps.settings.shares === undefined || isSlow ? undefined : overran.has(node)',
    replace: 'worker.deps.settings.shares === undefined ? undefined : overran.has(node)',
    within: 10,
    ...slow,
    weather: 'calm',
  },
  {
    name: 'an attempt that spent its first slice is left to the sweep',
    file: 'lib/service/run-node.ts',
    find: 'await deps.jobs.send([{ ...nodeJob(fold.head, open.dispatchedIn, open, resend), slowLane: lane }]);',
    replace: 'void [nodeJob, resend, lane];',
    within: 10,
    ...slow,
    weather: 'calm',
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
    find: 'if (left > 0 && left <= within) await nudgeLater(deps, head, left);',
    replace: 'void [left, within, nudgeLater];',
    within: 200,
    weather: 'calm',
  },
];
