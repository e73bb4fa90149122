/**
 * Sends a fetch run a message for one of its deployment's bundles. Only a key that the caller gives makes two calls one:
 * a run may rightly be told the same thing twice.
 */
import { addresseeOf, stepQueue, workflowQueue } from '../engine/fetch/message.ts';
import type { DeploymentId, NodeId, RunAddress } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationMs, after, instant } from '../engine/time.ts';
import { bundlePaths } from '../ports/bundles.ts';
import type { Manifest } from '../ports/deployments.ts';
import { askRun, endOf } from './ask-run.ts';
import { decideFetchRun, newMessage } from './decide-fetch-run.ts';
import type { Decider } from './decide-run.ts';
import { readRun } from './read-log.ts';
import { hasMessage } from './workflow-message.ts';

export interface Publication {
  readonly run: RunAddress;
  readonly queueName: string;
  readonly message: JsonValue;
  /** must be the run's own: a run stays on its deployment */
  readonly deploymentId?: DeploymentId;
  readonly delay?: DurationMs;
  readonly once?: { readonly key: string; readonly bodyHash: string };
}

export type PublishAnswer =
  | { readonly kind: 'published'; readonly messageId: NodeId; readonly isReplay: boolean }
  /** the deployment's manifest has no such workflow or step; with the queues that it has */
  | { readonly kind: 'unknown_queue'; readonly queues: readonly string[] }
  | { readonly kind: 'not_found' | 'idempotency_conflict' | 'run_terminal' | 'takes_no_messages' | 'deployment_mismatch' };

const publishEndpoint = 'POST /v1/queue/publish';

export async function publishMessage(decider: Decider, publication: Publication): Promise<PublishAnswer> {
  const { deps } = decider;
  const { run, queueName, message, once, delay, deploymentId } = publication;
  const addressee = addresseeOf(queueName);
  const fold = await readRun(deps, run);
  if (addressee === undefined || fold === undefined) return { kind: 'not_found' };
  if (fold.head.kind !== 'fetch') return { kind: 'takes_no_messages' };
  if (deploymentId !== undefined && deploymentId !== fold.head.deploymentId) return { kind: 'deployment_mismatch' };
  // An open run keeps its deployment from being removed, so one that is gone has nobody left to ask: the run has ended.
  const deployment = await deps.deployments.deployment(run, fold.head.deploymentId);
  if (deployment !== undefined && !hasName(deployment.manifest, addressee))
    return { kind: 'unknown_queue', queues: queuesOf(deployment.manifest) };

  const now = deps.clock.now();
  const own = { runId: deps.ids.runId(now), bodyHash: once?.bodyHash ?? '', reservedAt: now, owner: deps.ids.nonce() };
  const reserved =
    once === undefined
      ? undefined
      : await deps.reservations.reserve(run, publishEndpoint, once.key, own, {
          notBefore: instant(now - deps.settings.idempotencyMs),
          expiresAt: after(now, deps.settings.idempotencyMs),
        });
  const standing = reserved?.kind === 'taken' ? reserved.by : own;
  if (standing.bodyHash !== own.bodyHash) return { kind: 'idempotency_conflict' };
  // The message's id follows from the reservation: whoever repeats the call sends the same message, or finds it sent.
  const sent = newMessage(deps, addressee.lane, { queueName, body: message }, standing.runId);
  if (hasMessage(fold, sent)) return { kind: 'published', messageId: sent.id, isReplay: true };

  if (endOf(fold) === undefined) {
    const notBefore = delay === undefined || delay === 0 ? undefined : after(now, delay);
    const fact = { kind: 'message-sent' as const, sent, ...(notBefore === undefined ? {} : { notBefore }) };
    await askRun(decider, fold, () => decideFetchRun(decider, fold, [fact]));
    if (hasMessage(fold, sent) || endOf(fold) === undefined)
      return { kind: 'published', messageId: sent.id, isReplay: reserved?.kind === 'taken' };
  }
  if (once !== undefined && reserved?.kind === 'reserved')
    await deps.reservations.release(run, publishEndpoint, once.key, own.owner);
  return { kind: 'run_terminal' };
}

/**
 * Steps that the runtime of the Workflow DevKit asks for by itself, where a workflow reads a `Response` or `Request`. Its bundle for
 * steps has them, under names of its build: no author writes them into a manifest.
 * https://github.com/vercel/workflow, packages/core: `workflow.ts` asks for them, `private.ts` finds them.
 */
const devKitSteps: ReadonlySet<string> = new Set([
  '__builtin_response_array_buffer',
  '__builtin_response_json',
  '__builtin_response_text',
]);

function hasName({ workflows, steps, files }: Manifest, { lane, name }: NonNullable<ReturnType<typeof addresseeOf>>): boolean {
  if (lane === 'workflow') return workflows.some((each) => each.name === name);
  const isOfDevKit = devKitSteps.has(name) && files.some(({ path }) => path === bundlePaths.step);
  return isOfDevKit || steps.some((each) => each.name === name);
}

const queuesOf = ({ workflows, steps }: Manifest): readonly string[] => [
  ...workflows.map(({ name }) => workflowQueue(name)),
  ...steps.map(({ name }) => stepQueue(name)),
];
