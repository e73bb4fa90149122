/** The code broke the thread that it was on. What was at work then has failed; where nothing was, the code itself has. */
import { topLevel } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Instant, earliest } from '../time.ts';
import { type Draft, askForDrive, emit, endDrive, failedWith, hasEnded, run, wanted } from './draft.ts';
import type { CodeFact } from './facts.ts';
import { putOff } from './put-off.ts';
import { endOrRollBack } from './roll-back.ts';
import { stepNodeId } from './step.ts';
import { judgeFailure, stepRetryDefaults } from './step-retry.ts';

type DriveBroke = Extract<CodeFact, { kind: 'drive-broke' }>;
type Lost = Pick<DriveBroke, 'failure' | 'startedAt' | 'endedAt'>;

/** Code that breaks its thread before it asks for anything will hardly do better later. */
const mostBreaks = 10;

export function breakDrive(draft: Draft, fact: DriveBroke): void {
  const drive = wanted(draft, fact.node, fact.attempt);
  if (drive === undefined) return;
  run(draft);
  const steps = fact.running.flatMap(({ key, attempt }) => {
    const node = wanted(draft, { nodeId: stepNodeId(key), iteration: topLevel }, attempt);
    return node === undefined ? [] : [node];
  });
  if (steps.length === 0) return breakCode(draft, drive, fact);
  failSteps(draft, drive, steps, fact);
}

function failSteps(draft: Draft, drive: OpenNode, steps: readonly OpenNode[], fact: Lost): void {
  const retries = steps.map((step, index) =>
    failStep(draft, step, index < mostToldInFull ? fact : { ...fact, failure: inShort(fact.failure) }),
  );
  endDrive(draft, drive, fact);
  // A step that has failed for good is what the code is to hear of at once.
  const waits = retries.flatMap((at) => (at === undefined ? [] : [at]));
  askForDrive(draft, waits.length === retries.length ? earliest(waits) : undefined);
}

/**
 * The workers of this drive died again and again: an attempt of each step at work has failed, which its policy may repeat.
 * @returns false where no step was at work, so that the code itself is the likelier cause
 */
export function loseSteps(draft: Draft, drive: OpenNode, { message, details }: Failure): boolean {
  const { now } = draft.tools;
  const steps = openNodes(draft.state).filter(
    (node) =>
      node.status !== 'waiting' &&
      node.step?.kind === 'function' &&
      (node.status === 'running' || (node.notBefore ?? now) <= now),
  );
  if (steps.length === 0) return false;
  const failure: Failure = { cause: 'error', code: 'worker_lost', message, ...(details === undefined ? {} : { details }) };
  failSteps(draft, drive, steps, { failure, startedAt: drive.dispatchedAt, endedAt: now });
  return true;
}

function breakCode(draft: Draft, drive: OpenNode, fact: DriveBroke): void {
  if (drive.attempt < mostBreaks) return putOff(draft, drive, fact);
  endDrive(draft, drive, fact);
  endOrRollBack(draft, failedWith(fact.failure));
  if (!hasEnded(draft)) askForDrive(draft);
}

/** Hundreds of steps may have been at work, and all of them say the same. */
const mostToldInFull = 5;
const shortMessage = 200;
const inShort = ({ details: _details, message, ...failure }: Failure): Failure => ({
  ...failure,
  message: message.slice(0, shortMessage).toWellFormed(),
});

/** @returns when it is tried again; undefined where it is not */
function failStep(draft: Draft, node: OpenNode, { failure, startedAt, endedAt }: Lost): Instant | undefined {
  const { nodeId, iteration, attempt } = node;
  const step = { nodeId, iteration, attempt, failure, startedAt, endedAt };
  const judged = judge(draft, node, failure);
  if (judged.kind === 'over') {
    emit(draft, { type: 'NODE_FAILED', ...step });
    return undefined;
  }
  emit(draft, { type: 'NODE_RETRIED', ...step, delayMs: judged.delayMs, retryAt: judged.retryAt, via: 'inline' });
  return judged.retryAt;
}

const judge = ({ tools }: Draft, { step, attempt, lost = 0 }: OpenNode, failure: Failure) =>
  judgeFailure(
    { ...stepRetryDefaults, ...step?.retry },
    { failed: attempt - lost, isFinal: failure.cause === 'invalid', now: tools.now, deadlineAt: tools.deadlineAt },
  );
