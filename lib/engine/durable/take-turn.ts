/** What a turn of the author's code means for its run. */
import { topLevel } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Instant, earliest } from '../time.ts';
import { type Draft, askForDrive, dispatchDrive, emit, endAs, endDrive, failedWith, hasEnded, run, wanted } from './draft.ts';
import type { CodeFact } from './facts.ts';
import { putOff } from './put-off.ts';
import { endOrRollBack, hasSomethingToUndo, withFailures } from './roll-back.ts';
import { stepNodeId } from './step.ts';
import type { TurnEntry } from './turn.ts';
import { ask } from './ask.ts';

type TurnEnded = Extract<CodeFact, { kind: 'turn-ended' }>;

/** No run has more: its history would be longer than a replay in one function's time. */
export const mostStepAttempts = 25_000;

/** Nobody drives the run where it has nothing to wait for: the code awaits something that is no step. */
const mostStalls = 5;

export function takeTurn(draft: Draft, fact: TurnEnded): void {
  const drive = wanted(draft, fact.node, fact.attempt);
  if (drive === undefined) return;
  run(draft);
  const wasUndoing = isUndoing(draft);
  for (const entry of fact.turn.entries) {
    take(draft, drive, entry, fact);
    // What else the code asked for is of no use any more. This drive undoes what it did.
    if (hasEnded(draft) || isUndoing(draft) !== wasUndoing) return;
  }
  if ((draft.state.code?.stepAttempts ?? 0) > mostStepAttempts) return fail(draft, drive, tooManySteps, fact);
  leave(draft, fact);
}

const isUndoing = ({ state }: Draft): boolean => state.code?.ending !== undefined;

function leave(draft: Draft, fact: TurnEnded): void {
  // Where the workflow is run once more, another drive does it.
  const drive = wanted(draft, fact.node, fact.attempt);
  const { turn } = fact;
  if (drive === undefined || turn.next === 'goes_on') return;
  const isIdle = openNodes(draft.state).every(({ step }) => step?.kind === 'drive');
  // What came at the end of a drive's time is given to the code by the next one.
  const hasNews = turn.next === 'hands_on' && turn.entries.length > 0;
  if (isIdle && turn.wakeAt === undefined && !hasNews) return stall(draft, drive, fact);
  endDrive(draft, drive, fact);
  if (turn.next === 'hands_on') return askForDrive(draft);
  const wakeAt = turn.wakeAt ?? firstTry(draft);
  if (wakeAt !== undefined) askForDrive(draft, wakeAt);
}

/** A step that is to be done needs somebody who does it, whatever the drive that leaves it says. */
function firstTry(draft: Draft): Instant | undefined {
  const { now } = draft.tools;
  const left = openNodes(draft.state).filter(({ status, step }) => status !== 'waiting' && step?.kind !== 'drive');
  return earliest(left.map((node) => (node.status === 'queued' ? (node.notBefore ?? now) : now)));
}

function stall(draft: Draft, drive: OpenNode, fact: TurnEnded): void {
  if (drive.attempt < mostStalls) return putOff(draft, drive, { ...fact, failure: stalled });
  fail(draft, drive, stalled, fact);
}

/** The run ends here, also where it could not be undone to its end; or this drive goes on and undoes what the code did. */
function fail(draft: Draft, drive: OpenNode, failure: Failure, times: Span): void {
  if (!hasSomethingToUndo(draft)) endDrive(draft, drive, times);
  endOrRollBack(draft, failedWith(failure));
}

interface Span {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
}

function take(draft: Draft, drive: OpenNode, entry: TurnEntry, times: TurnEnded): void {
  switch (entry.kind) {
    case 'asked': {
      const refusal = ask(draft, entry.command);
      return refusal === undefined ? undefined : fail(draft, drive, refusal, times);
    }
    case 'completed': {
      const { startedAt, endedAt, printed } = entry;
      const spent = { startedAt, endedAt, ...(printed === undefined ? {} : { printed }) };
      return emit(draft, {
        type: 'NODE_COMPLETED',
        ...atWork(draft, entry),
        output: inline(entry.output),
        handle: null,
        ...spent,
      });
    }
    case 'retried': {
      const { startedAt, endedAt, printed, failure, delayMs, retryAt } = entry;
      const spent = { startedAt, endedAt, ...(printed === undefined ? {} : { printed }) };
      return emit(draft, { type: 'NODE_RETRIED', ...atWork(draft, entry), failure, delayMs, retryAt, via: 'inline', ...spent });
    }
    case 'failed': {
      const { startedAt, endedAt, printed, failure } = entry;
      const spent = { startedAt, endedAt, ...(printed === undefined ? {} : { printed }) };
      return emit(draft, { type: 'NODE_FAILED', ...atWork(draft, entry), failure, ...spent });
    }
    case 'returned':
      endDrive(draft, drive, times);
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
      return emit(draft, { type: 'RUN_COMPLETED', output: inline(entry.output) });
    case 'threw': {
      if (entry.again === undefined) return fail(draft, drive, entry.failure, times);
      const { code } = draft.state;
      invariant(code !== undefined, 'code threw that was never driven');
      endDrive(draft, drive, times);
      emit(draft, { type: 'RUN_RETRIED', attempt: code.attempt, failure: entry.failure, ...entry.again });
      return dispatchDrive(draft, entry.again.retryAt);
    }
    case 'rolled-back': {
      const ending = draft.state.code?.ending;
      invariant(ending !== undefined, 'a run was rolled back that does not end');
      endDrive(draft, drive, times);
      return endAs(draft, withFailures(ending, entry.failures));
    }
    default:
      unreachable(entry);
  }
}

/** The step whose body was at work. What a drive says of another is a fault of ours. */
function atWork(draft: Draft, { key, attempt }: Extract<TurnEntry, { key: string; attempt: unknown }>) {
  const ref = { nodeId: stepNodeId(key), iteration: topLevel };
  const node = wanted(draft, ref, attempt);
  invariant(node?.step?.key === key, `step ${JSON.stringify(key)} is not at attempt ${attempt}`);
  return { ...ref, attempt };
}

const tooManySteps: Failure = {
  cause: 'invalid',
  code: 'step_limit_exceeded',
  message: `the run has more than ${mostStepAttempts} attempts of steps`,
};

const stalled: Failure = {
  cause: 'error',
  code: 'code_stalled',
  message: 'the code neither ended nor asked for a step: it awaits something that is none',
};
