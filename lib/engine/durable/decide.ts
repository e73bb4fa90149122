/** Code runs: facts in, events out. The code says what it does; what is decided here is what that means for its run. */
import { outputOfSignal, workflowExpired } from './waits.ts';
import { failureOfChild } from '../graph/call-subflow.ts';
import { topLevel } from '../ids.ts';
import { unreachable } from '../invariant.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { RunEvent } from '../log/events.ts';
import { type RunState, emptyState, openNodes } from '../log/fold.ts';
import { type OpenNode, type WaitingNode, endsBy } from '../log/node-state.ts';
import { deadlineExceeded } from '../retry/deadline.ts';
import { type Instant, hours, after } from '../time.ts';
import { breakDrive, loseSteps } from './break-drive.ts';
import {
  type Draft,
  askForDrive,
  askForDriveAtOnce,
  dispatchDrive,
  emit,
  endDrive,
  failedWith,
  hasEnded,
  openDraft,
  run,
  wanted,
} from './draft.ts';
import type { CodeFact, CodeTools } from './facts.ts';
import { divergedCode, putOff } from './put-off.ts';
import { endOrRollBack, endUndone } from './roll-back.ts';
import { takeTurn } from './take-turn.ts';

/** After its deadline a run that undoes what it did may go on for this long. */
const rollbackGrace = hours(1);

/** The first commit: the input, and the first drive on its way. */
export function decideCodeStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  tools: CodeTools,
  notBefore?: Instant,
): readonly RunEvent[] {
  const draft = openDraft(emptyState(), tools);
  emit(draft, { type: 'INPUT_SET', input });
  for (const [key, value] of Object.entries(system)) emit(draft, { type: 'SYSTEM_SET', key, value: inline(value) });
  emit(draft, { type: 'RUN_STARTED' });
  dispatchDrive(draft, notBefore);
  return draft.events;
}

/**
 * What follows from these facts, in their order. No event: nothing is to be committed.
 * After the deadline the first fact ends the run or begins its rollback, and a turn that was made before that is not taken:
 * its drive reads the log and goes on from there.
 */
export function decideCode(state: RunState, facts: readonly CodeFact[], tools: CodeTools): readonly RunEvent[] {
  const draft = openDraft(state, tools);
  if (facts.length > 0 && !hasEnded(draft)) passDeadline(draft);
  const isOvertaken = draft.events.length > 0;
  for (const fact of facts) {
    if (hasEnded(draft)) break;
    if (!isOvertaken || fact.kind !== 'turn-ended') decideOne(draft, fact);
  }
  return draft.events;
}

function decideOne(draft: Draft, fact: CodeFact): void {
  switch (fact.kind) {
    case 'turn-ended':
      return takeTurn(draft, fact);
    case 'drive-broke':
      return breakDrive(draft, fact);
    case 'commit-too-large':
      run(draft);
      return leaveUndone(draft, fact.failure);
    case 'drive-put-off': {
      const drive = wanted(draft, fact.node, fact.attempt);
      if (drive === undefined) return;
      run(draft);
      return cannotDrive(draft, drive, fact);
    }
    case 'node-started':
      if (wanted(draft, fact.node, fact.attempt)?.status !== 'queued') return;
      run(draft);
      return emit(draft, { type: 'NODE_STARTED', ...fact.node, attempt: fact.attempt, startedAt: fact.startedAt });
    case 'node-woken': {
      const node = wanted(draft, fact.node, fact.attempt);
      if (node?.status !== 'waiting') return;
      const endsAt = endsBy(node);
      if (endsAt === undefined || endsAt > draft.tools.now) return;
      return expire(draft, node);
    }
    case 'wake-requested': {
      const { nodeIds } = fact;
      return wakeEarly(draft, ({ nodeId }) => nodeIds === undefined || nodeIds.includes(nodeId));
    }
    case 'resume-requested': {
      const { reason, payload, token } = fact;
      emit(draft, {
        type: 'RUN_RESUMED',
        ...(reason === undefined ? {} : { reason }),
        ...(payload === undefined ? {} : { payload }),
        ...(token === undefined ? {} : { token }),
      });
      wakeEarly(draft, () => true);
      return askForDriveAtOnce(draft);
    }
    case 'signal-received': {
      const node = wanted(draft, fact.node, fact.attempt);
      if (node?.status !== 'waiting' || node.for !== 'signal') return;
      const { signal } = fact;
      const { name, correlation } = node;
      emit(draft, { type: 'SIGNAL_RECEIVED', ...fact.node, attempt: fact.attempt, signalId: signal.signalId, name, correlation });
      return settle(draft, node, outputOfSignal(signal));
    }
    case 'child-ended': {
      const node = wanted(draft, fact.node, fact.attempt);
      if (node?.status !== 'waiting' || node.for !== 'child' || node.childRunId !== fact.childRunId) return;
      const failure = failureOfChild(fact.end, fact.childRunId);
      if (failure === undefined) return settle(draft, node, inline(fact.end.status === 'completed' ? fact.end.output : null));
      emit(draft, { type: 'NODE_FAILED', ...fact.node, attempt: fact.attempt, failure, ...spanOf(draft, node) });
      return askForDrive(draft);
    }
    case 'node-lost': {
      const drive = wanted(draft, fact.node, fact.attempt);
      if (drive?.step?.kind !== 'drive') return;
      run(draft);
      if (loseSteps(draft, drive, fact.failure)) return;
      emit(draft, { type: 'NODE_FAILED', ...fact.node, attempt: fact.attempt, failure: fact.failure, ...spanOf(draft, drive) });
      // Machines that died before it had anything to undo are no reason to leave it undone.
      if (Number(drive.step.key) <= (draft.state.code?.endedIn ?? 0)) return askForDrive(draft);
      return leaveUndone(draft, { ...fact.failure, code: 'drive_lost' });
    }
    case 'cancel-requested':
      if (draft.state.code?.ending !== undefined) return;
      endOrRollBack(draft, { status: 'cancelled', ...(fact.reason === undefined ? {} : { reason: fact.reason }) });
      return hasEnded(draft) ? undefined : askForDriveAtOnce(draft);
    case 'deadline-passed':
      // Too early: a deadline that has passed has been seen to before.
      return;
    case 'recovered':
      if (fact.nodes.length > 0) emit(draft, { type: 'RUN_RECOVERED', nodes: fact.nodes });
      // Nothing leads here; and were a run ever left with nobody, whoever looks at it puts it right.
      if (openNodes(draft.state).every(({ status, step }) => status !== 'waiting' && step?.kind !== 'drive')) askForDrive(draft);
      return;
    default:
      unreachable(fact);
  }
}

/** Code that asks for something else than it did may have its reasons to ask for the same the next time. */
const mostDivergedRollbacks = 5;

/** Somebody waits for the end of a run that undoes what it did: what code that diverges cannot undo is left as it is, and named. */
function cannotDrive(draft: Draft, drive: OpenNode, fact: Extract<CodeFact, { kind: 'drive-put-off' }>): void {
  const ending = draft.state.code?.ending;
  const { failure } = fact;
  if (ending === undefined || failure.code !== divergedCode || drive.attempt < mostDivergedRollbacks)
    return putOff(draft, drive, fact);
  endDrive(draft, drive, fact);
  endUndone(draft, ending, failure.message);
}

/** What the code did is undone by a drive; where even that one is lost, the run ends as it is. */
function leaveUndone(draft: Draft, failure: Parameters<typeof failedWith>[0]): void {
  endOrRollBack(draft, failedWith(failure));
  if (!hasEnded(draft)) askForDrive(draft);
}

function passDeadline(draft: Draft): void {
  const { now, deadlineAt } = draft.tools;
  if (now < deadlineAt) return;
  const ending = draft.state.code?.ending;
  if (ending === undefined) return leaveUndone(draft, deadlineExceeded);
  if (now >= after(deadlineAt, rollbackGrace)) endUndone(draft, ending, 'the deadline of the run has passed by an hour');
}

/** A wait whose time is over: a sleep is done, a signal did not come, a run that was called goes on without its caller. */
function expire(draft: Draft, node: WaitingNode): void {
  if (node.for !== 'child') return settle(draft, node, inline(null));
  const { nodeId, iteration, attempt } = node;
  emit(draft, { type: 'NODE_FAILED', nodeId, iteration, attempt, failure: workflowExpired(node), ...spanOf(draft, node) });
  askForDrive(draft);
}

function wakeEarly(draft: Draft, isMeant: (node: OpenNode) => boolean): void {
  for (const node of openNodes(draft.state)) {
    if (node.status !== 'waiting' || node.for !== 'time' || !isMeant(node)) continue;
    emit(draft, { type: 'NODE_WOKEN', nodeId: node.nodeId, iteration: topLevel, attempt: node.attempt });
    settle(draft, node, inline(null));
  }
}

function settle(draft: Draft, node: WaitingNode, output: Payload): void {
  const { nodeId, iteration, attempt } = node;
  emit(draft, { type: 'NODE_COMPLETED', nodeId, iteration, attempt, output, handle: null, ...spanOf(draft, node) });
  askForDrive(draft);
}

const spanOf = ({ tools }: Draft, { dispatchedAt }: OpenNode) => ({ startedAt: dispatchedAt, endedAt: tools.now });
