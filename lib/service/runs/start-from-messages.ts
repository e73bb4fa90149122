/**
 * Starts runs from the messages of a trigger. Each message starts one run, however often it is delivered: its id, or the id of its event,
 * is the idempotency key. A message that can start nothing becomes a dead letter with the reason; a temporary error makes the queue
 * deliver it again.
 */
import { createHash } from 'node:crypto';
import { defined } from '../../base/defined.ts';
import type { RunId } from '../../engine/ids.ts';
import { triggerSystemValues } from '../../engine/log/lineage.ts';
import { days } from '../../engine/time.ts';
import { type ReceivedMessage, readMessage } from '../../triggers/read-message.ts';
import type { StoredTrigger } from '../../triggers/setting.ts';
import type { Decider } from '../decider.ts';
import { type BatchOutcome, type BatchStart, startBatch } from './start-batch.ts';

export interface TriggerMessage extends ReceivedMessage {
  /** how often the queue delivered it, this time included */
  readonly receives: number;
}

export type MessageOutcome =
  | { readonly kind: 'started'; readonly runId: RunId; readonly isReplay: boolean }
  /** it starts nothing, and goes to the dead-letter queue with this reason */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  /** the queue delivers it again */
  | { readonly kind: 'retry'; readonly error?: unknown };

/**
 * A queue keeps a message for at most 14 days. A message that waits in the dead-letter queue for as long, and is then moved back, can be
 * delivered 42 days after its first delivery.
 */
const keyLifetime = days(45);

/**
 * @param messages of one queue, in the order of the queue
 * @returns the outcomes, in the same order
 */
export async function startFromMessages(
  decider: Decider,
  trigger: StoredTrigger,
  messages: readonly TriggerMessage[],
): Promise<readonly MessageOutcome[]> {
  const outcomes = new Map<TriggerMessage, MessageOutcome>();
  const waitingGroups = new Set<string>();
  for (const round of roundsOf(messages)) {
    const due = round.filter(({ groupId }) => groupId === undefined || !waitingGroups.has(groupId));
    const results = await startRound(decider, trigger, due);
    for (const [index, message] of due.entries()) {
      const outcome = withinReceives(trigger, message, results[index] ?? { kind: 'retry' });
      outcomes.set(message, outcome);
      // A later message of the group must not overtake it.
      if (outcome.kind === 'retry' && message.groupId !== undefined) waitingGroups.add(message.groupId);
    }
  }
  return messages.map((message) => outcomes.get(message) ?? { kind: 'retry' });
}

/** Messages that may start together: all of a standard queue, and the next one of each group of a FIFO queue. */
function roundsOf(messages: readonly TriggerMessage[]): readonly (readonly TriggerMessage[])[] {
  const rounds: TriggerMessage[][] = [];
  const roundOfGroup = new Map<string, number>();
  for (const message of messages) {
    const { groupId } = message;
    const round = groupId === undefined ? 0 : (roundOfGroup.get(groupId) ?? 0);
    if (groupId !== undefined) roundOfGroup.set(groupId, round + 1);
    (rounds[round] ??= []).push(message);
  }
  return rounds;
}

async function startRound(
  decider: Decider,
  trigger: StoredTrigger,
  messages: readonly TriggerMessage[],
): Promise<readonly MessageOutcome[]> {
  const read = messages.map((message) => readMessage(trigger, message));
  const starts = read.flatMap((one) => (one.kind === 'read' ? [requestOf(trigger, one)] : []));
  const started = (await startAll(decider, starts)).values();
  return read.map((one) => {
    if (one.kind === 'refused') return one;
    const next = started.next();
    return next.done === true ? { kind: 'retry' } : next.value;
  });
}

function requestOf(trigger: StoredTrigger, { input, idempotencyKey }: Pick<BatchStart, 'idempotencyKey' | 'input'>): BatchStart {
  const { name, projectId, environment, workflowName, version } = trigger;
  return defined({
    scope: { projectId, environment },
    // No client's key has this endpoint.
    endpoint: `trigger/${name}`,
    idempotencyKey,
    idempotencyTtlMs: keyLifetime,
    // The key alone identifies the start: after a change of the mapping, a message that comes again must find its run.
    bodyHash: createHash('sha256').update(idempotencyKey).digest('hex'),
    workflowName,
    version,
    input,
    system: triggerSystemValues(name, idempotencyKey),
  });
}

/** An unexpected error of one start must not hold back the others, so each of them is then repeated alone. Repetition starts nothing twice. */
async function startAll(decider: Decider, starts: readonly BatchStart[]): Promise<readonly MessageOutcome[]> {
  if (starts.length === 0) return [];
  try {
    return (await startBatch(decider, starts)).map(outcomeOf);
  } catch (error) {
    if (starts.length === 1) return [{ kind: 'retry', error }];
    const outcomes: MessageOutcome[] = [];
    for (const start of starts) outcomes.push(...(await startAll(decider, [start])));
    return outcomes;
  }
}

function outcomeOf(outcome: BatchOutcome): MessageOutcome {
  const refused = (message: string): MessageOutcome => ({ kind: 'refused', code: outcome.kind, message });
  switch (outcome.kind) {
    case 'started': {
      const { runId, isReplay } = outcome;
      return { kind: 'started', runId, isReplay };
    }
    case 'run_deleted':
      // An earlier delivery started it.
      return { kind: 'started', runId: outcome.runId, isReplay: true };
    // `run_exists`: the generated run id is in use. The key was released, so another delivery generates another id.
    case 'unavailable':
    case 'run_exists':
      return { kind: 'retry' };
    case 'input_invalid':
      return refused(outcome.errors.map(({ pointer, message }) => `${pointer}: ${message}`).join('; '));
    case 'workflow_not_found':
      return refused(
        outcome.inactive === undefined
          ? 'no published workflow and no active deployment has this name'
          : `only the inactive deployment ${outcome.inactive.deploymentId} has this workflow; activate it`,
      );
    case 'workflow_archived':
      return refused('the workflow is archived; publish a version or remove the trigger');
    case 'workflow_deleting':
      return refused('the workflow is being deleted; remove the trigger');
    case 'version_not_found':
      return refused('the workflow does not have the version of the trigger');
    case 'no_active_deployment':
      return refused('no published workflow has this name, and no deployment is active');
    case 'deployment_not_found':
    case 'deployment_not_verified':
      return refused(`deployment ${outcome.deploymentId} cannot start runs`);
    case 'idempotency_conflict':
    case 'deadline_passed':
    case 'node_not_reached':
      throw new Error(
        `unexpected outcome ${outcome.kind}: a trigger declares no deadline and no node, and its key is its request`,
      );
  }
}

/** The last delivery before the queue gives the message up: from here it gets a reason, which the queue could not give. */
function withinReceives({ maxReceives }: StoredTrigger, { receives }: TriggerMessage, outcome: MessageOutcome): MessageOutcome {
  if (outcome.kind !== 'retry' || maxReceives === undefined || receives < maxReceives) return outcome;
  return {
    kind: 'refused',
    code: outcome.error === undefined ? 'unavailable' : 'internal',
    message: `no delivery of ${receives} started a run: ${outcome.error === undefined ? 'a store or a queue did not answer' : 'an unexpected error, see the logs of the function'}`,
  };
}
