/**
 * Sends a message to a bundle run. Two calls are one only with the same idempotency key, because a run may validly receive the same
 * message twice.
 */
import { defined } from '../../../base/defined.ts';
import { parseQueueName, stepQueue, workflowQueue } from '../../../engine/bundle/message.ts';
import type { DeploymentId, NodeId, RunAddress } from '../../../engine/ids.ts';
import type { JsonValue } from '../../../engine/json.ts';
import { type DurationMs, after, instant } from '../../../engine/time.ts';
import { bundlePaths } from '../../../ports/bundles.ts';
import type { Manifest } from '../../../ports/deployments.ts';
import { commitWithDueEntry, endStatusOf } from '../../commit/commit-with-due-entry.ts';
import { decideBundleRun, newMessage } from './decide-bundle-run.ts';
import type { Decider } from '../../decider.ts';
import { readRunFold } from '../../run-log/read-run-fold.ts';
import { hasMessage } from './new-workflow-message.ts';

export interface PublishMessageRequest {
  readonly run: RunAddress;
  readonly queueName: string;
  readonly message: JsonValue;
  /** must be the run's deployment, because a run stays on its deployment */
  readonly deploymentId?: DeploymentId;
  readonly delay?: DurationMs;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string };
}

export type PublishMessageResult =
  | { readonly kind: 'published'; readonly messageId: NodeId; readonly isReplay: boolean }
  /** the manifest has no such workflow or step; `queues` lists the valid queues */
  | { readonly kind: 'unknown_queue'; readonly queues: readonly string[] }
  | { readonly kind: 'not_found' | 'idempotency_conflict' | 'run_terminal' | 'takes_no_messages' | 'deployment_mismatch' };

const publishEndpoint = 'POST /v1/queue/publish';

export async function publishMessage(decider: Decider, request: PublishMessageRequest): Promise<PublishMessageResult> {
  const { deps } = decider;
  const { run, queueName, message, idempotency, delay, deploymentId } = request;
  const addressee = parseQueueName(queueName);
  const fold = await readRunFold(deps, run);
  if (addressee === undefined || fold === undefined) return { kind: 'not_found' };
  if (fold.head.kind !== 'bundle') return { kind: 'takes_no_messages' };
  if (deploymentId !== undefined && deploymentId !== fold.head.deploymentId) return { kind: 'deployment_mismatch' };
  // An open run pins its deployment. If the deployment was removed, the run has ended, and the check below reports that.
  const deployment = await deps.deployments.deployment(run, fold.head.deploymentId);
  if (deployment !== undefined && !hasName(deployment.manifest, addressee))
    return { kind: 'unknown_queue', queues: queuesOf(deployment.manifest) };

  const now = deps.clock.now();
  const proposed = {
    runId: deps.ids.runId(now),
    bodyHash: idempotency?.bodyHash ?? '',
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const reserved =
    idempotency === undefined
      ? undefined
      : await deps.reservations.reserve(run, publishEndpoint, idempotency.key, proposed, {
          notBefore: instant(now - deps.settings.idempotencyMs),
          expiresAt: after(now, deps.settings.idempotencyMs),
        });
  const reservation = reserved?.kind === 'taken' ? reserved.by : proposed;
  if (reservation.bodyHash !== proposed.bodyHash) return { kind: 'idempotency_conflict' };
  // The message id follows from the reservation, so a repeated call sends the same message or finds it in the log.
  const newBundleMessage = newMessage(deps, addressee.lane, { queueName, body: message }, reservation.runId);
  if (hasMessage(fold, newBundleMessage)) return { kind: 'published', messageId: newBundleMessage.id, isReplay: true };

  if (endStatusOf(fold) === undefined) {
    const notBefore = delay === undefined || delay === 0 ? undefined : after(now, delay);
    const fact = defined({
      kind: 'message-sent' as const,
      newMessage: newBundleMessage,
      notBefore,
    });
    await commitWithDueEntry(decider, fold, () => decideBundleRun(decider, fold, [fact]));
    if (hasMessage(fold, newBundleMessage) || endStatusOf(fold) === undefined)
      return { kind: 'published', messageId: newBundleMessage.id, isReplay: reserved?.kind === 'taken' };
  }
  if (idempotency !== undefined && reserved?.kind === 'reserved')
    await deps.reservations.release(run, publishEndpoint, idempotency.key, proposed.owner);
  return { kind: 'run_terminal' };
}

/**
 * Steps that the runtime of the Workflow DevKit calls itself when a workflow reads a `Response` or `Request`. Its step bundle contains
 * them under names of its build, so no manifest lists them.
 * https://github.com/vercel/workflow, packages/core: `workflow.ts` calls them, `private.ts` finds them.
 */
const devKitSteps: ReadonlySet<string> = new Set([
  '__builtin_response_array_buffer',
  '__builtin_response_json',
  '__builtin_response_text',
]);

function hasName({ workflows, steps, files }: Manifest, { lane, name }: NonNullable<ReturnType<typeof parseQueueName>>): boolean {
  if (lane === 'workflow') return workflows.some((each) => each.name === name);
  const isOfDevKit = devKitSteps.has(name) && files.some(({ path }) => path === bundlePaths.step);
  return isOfDevKit || steps.some((each) => each.name === name);
}

const queuesOf = ({ workflows, steps }: Manifest): readonly string[] => [
  ...workflows.map(({ name }) => workflowQueue(name)),
  ...steps.map(({ name }) => stepQueue(name)),
];
