/**
 * Delivers a message of a bundle run to the bundle of its deployment, if the message is still open, and commits the result of the
 * bundle's response. A message may be delivered twice, as with every queue; the bundle's code must tolerate that.
 */
import { defined } from '../../../base/defined.ts';
import type { BundleFact } from '../../../engine/bundle/decide.ts';
import {
  type Message,
  type InvocationResult,
  laneOf,
  parseMessage,
  messageKey,
  messageResultOf,
} from '../../../engine/bundle/message.ts';
import type { NodeRef } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { JsonValue } from '../../../engine/json.ts';
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { BundleHead } from '../../../engine/log/head.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import { openNodeAt } from '../../../engine/log/open-nodes.ts';
import { type Instant, durationMs, instant } from '../../../engine/time.ts';
import { withSpan } from '../../../engine/trace.ts';
import type { MessageJob } from '../../../ports/jobs.ts';
import { isPastDeadline, enforceDeadline } from '../../commit/deadline.ts';
import { sendJobAt, recheckDelay, sendRecheck } from '../../commit/schedule-message.ts';
import { admitAttempt, recordingAttemptErrors } from '../../execution/admit-attempt.ts';
import { loadPayload } from '../../run-log/payloads.ts';
import { type RunFold, readRunFold } from '../../run-log/read-run-fold.ts';
import { attemptSpanId } from '../../runs/span-ids.ts';
import type { Delivery, Deliverer } from '../../worker.ts';
import { decideBundleRun, newMessage } from './decide-bundle-run.ts';
import { newWorkflowMessage } from './new-workflow-message.ts';
import { watchDelivery } from './watch-delivery.ts';

/** Time reserved at the end of an invocation for the commit and its effects. */
const reserveMs = durationMs(5_000);

export async function deliverMessage(deliverer: Deliverer, job: MessageJob, delivery: Delivery): Promise<void> {
  const { deps } = deliverer;
  const fold = await readRunFold(deps, job.run, job.commit);
  if (fold === undefined) return;
  const { head } = fold;
  invariant(
    head.kind === 'bundle',
    `${head.address.runId} received a message job, but it is a ${head.kind} run, not a bundle run`,
  );
  const open = openNodeAt(fold.state, job, job.attempt);
  if (open !== undefined && isPastDeadline(deps, fold)) await enforceDeadline(deliverer, fold);
  if (open !== undefined && isTerminal(fold.state.progress)) return;
  if (open === undefined) {
    // A duplicate dispatches nothing. After a redelivery, the function before may have crashed between its commit and its effects. The
    // recheck makes the worker dispatch them.
    if (delivery.isRedelivered) await sendRecheck(deps, head, durationMs(0));
  } else if (open.status === 'queued' && open.notBefore !== undefined && open.notBefore > deps.clock.now()) {
    await sendJobAt(deps, open.notBefore, job);
  } else {
    const admission = await admitAttempt(deliverer, fold, open, {
      ...delivery,
      resend: job.resend,
      mayOverlap: delivery.isRedelivered,
    });
    if (admission.kind === 'held_by_another') return sendRecheck(deps, head, recheckDelay);
    if (admission.kind === 'ended') return;
    const { deliveries } = admission;
    const act = (): Promise<void> => deliver(deliverer, { fold, head, open, deliveries }, delivery);
    await recordingAttemptErrors(deliverer, fold, open, act, deliveries);
  }
}

interface DeliveryContext {
  readonly fold: RunFold;
  readonly head: BundleHead;
  readonly open: OpenNode;
  /** records of the attempt's earlier deliveries */
  readonly deliveries: Deliveries | undefined;
}

async function deliver(deliverer: Deliverer, context: DeliveryContext, { mustEndAt }: Delivery): Promise<void> {
  const { fold, head, open } = context;
  const { deps } = deliverer;
  const startedAt = deps.clock.now();
  const message = await messageOf(deliverer, fold, open);
  const endsAt = instant(Math.max(startedAt, mustEndAt - reserveMs));
  const deliveryResult = await sendToBundle(deliverer, context, message, endsAt);
  if (isTerminal(fold.state.progress)) return;
  const node: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  const isStepLost = deliveryResult.kind === 'unloadable' && laneOf(message.queueName) === 'step';
  const reason = isStepLost
    ? `message ${open.nodeId} to ${message.queueName} cannot be loaded: ${deliveryResult.message}`
    : undefined;
  const answeredFact: BundleFact = defined({
    kind: 'message-answered',
    node,
    attempt: open.attempt,
    result: messageResultOf(deliveryResult),
    // Without the reason and payload of a resume, which the code received with the first message.
    nextMessage: newMessage(deps, laneOf(message.queueName) ?? 'workflow', { queueName: message.queueName, body: message.body }),
    notice: reason === undefined ? undefined : await newWorkflowMessage(deps, head, { reason }),
    startedAt,
    endedAt: deps.clock.now(),
  });
  await decideBundleRun(deliverer, fold, [answeredFact]);
}

async function messageOf({ deps }: Deliverer, { head, state }: RunFold, { nodeId }: OpenNode): Promise<Message> {
  const stored = state.contextWrites.get(messageKey(nodeId))?.at(-1)?.payload;
  invariant(stored !== undefined, `message ${nodeId} of ${head.address.runId} has no stored content`);
  const message = parseMessage('ref' in stored ? await loadPayload(deps, head.address, stored.ref) : stored.value);
  invariant(message !== undefined, `the stored content of message ${nodeId} of ${head.address.runId} is not a valid message`);
  return message;
}

async function sendToBundle(
  deliverer: Deliverer,
  context: DeliveryContext,
  message: Message,
  endsAt: Instant,
): Promise<InvocationResult> {
  const { deps, bundles } = deliverer;
  const { head, open } = context;
  const deployment = await deps.deployments.deployment(head.address, head.deploymentId);
  if (deployment === undefined) return { kind: 'unloadable', message: `deployment ${head.deploymentId} does not exist any more` };
  const stop = new AbortController();
  const done = new AbortController();
  const watching = watchDelivery(deliverer, context.fold, context, stop, done.signal);
  const request = { queueName: message.queueName, headers: headersOf(head, open, message), body: message.body };
  try {
    return await bundles.deliver(head.address, deployment.manifest, request, { endsAt, signal: stop.signal });
  } finally {
    done.abort();
    await watching;
  }
}

/** The request headers for the bundle. */
const headersOf = (head: BundleHead, open: OpenNode, { queueName, reason, payload }: Message): Record<string, string> =>
  defined({
    'content-type': 'application/json',
    'x-vqs-queue-name': queueName,
    'x-vqs-message-id': open.nodeId,
    'x-vqs-message-attempt': String(open.attempt),
    'x-workflow-run-id': head.address.runId,
    ...(head.trace === undefined
      ? {}
      : {
          'x-workflow-correlation-id': head.trace.correlationId,
          traceparent: withSpan(head.trace.traceparent, attemptSpanId(head.address.runId, open, open.attempt)),
        }),
    'x-workflow-resume-reason': reason === undefined ? undefined : asHeader(reason),
    'x-workflow-resume-payload': payload === undefined ? undefined : asHeader(jsonOf(payload)),
  });

const jsonOf = (value: JsonValue): string => JSON.stringify(value);

/** A header holds printable ASCII. Other characters become JSON escapes, so that a payload stays equivalent JSON. */
const asHeader = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
