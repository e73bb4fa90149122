/**
 * Checks that the code of an app of the Workflow DevKit executes messages, on a thread or in a registered application: it sends the
 * SDK's health check through the queue, and reads the answer that the SDK writes to a stream.
 */
import { workflowQueue } from '../../../engine/bundle/message.ts';
import type { DeploymentId, Scope } from '../../../engine/ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../../engine/json.ts';
import { type DurationMs, after, between, durationMs, seconds } from '../../../engine/time.ts';
import { registeredApp } from './register-app.ts';
import { sendHealthCheck } from './send-health-check.ts';
import { healthCheckPrefix, readChunks } from './streams.ts';
import type { Deps } from '../../deps.ts';

type Needs = Pick<
  Deps,
  'blobs' | 'clock' | 'deployments' | 'devKitStreams' | 'ids' | 'jobs' | 'log' | 'registeredApps' | 'uploads'
>;

export type Health =
  | {
      readonly kind: 'healthy';
      readonly latency: DurationMs;
      readonly sdkVersion?: string;
      readonly specVersion?: number;
    }
  /** no answer came in time */
  | { readonly kind: 'silent'; readonly waited: DurationMs }
  | { readonly kind: 'not_found' | 'deployment_not_verified' | 'no_devkit' };

/** A request takes at most 29 seconds. A cold start of the code function with a large artifact takes a few. */
export const healthTimeout = seconds(20);
const pause = durationMs(200);

export async function checkHealth(deps: Needs, scope: Scope, deploymentId: DeploymentId): Promise<Health> {
  const target = await targetOf(deps, scope, deploymentId);
  if ('refused' in target) return { kind: target.refused };
  const startedAt = deps.clock.now();
  const correlationId = deps.ids.runId(startedAt).slice('wrun_'.length);
  const message = { __healthCheck: true, correlationId };
  await sendHealthCheck(deps, { scope, deploymentId, queueName: workflowQueue('health_check', target.queueNamespace), message });
  const endsAt = after(startedAt, healthTimeout);
  while (deps.clock.now() < endsAt) {
    const read = await readChunks(deps, { scope, name: `${healthCheckPrefix}${correlationId}` }, {});
    const answer = read.kind === 'refused' ? undefined : answerIn(read.value.data.map(({ data }) => data));
    if (answer?.['healthy'] === true) return healthyOf(answer, between(startedAt, deps.clock.now()));
    await deps.clock.sleep(pause);
  }
  return { kind: 'silent', waited: between(startedAt, deps.clock.now()) };
}

interface Target {
  readonly queueNamespace?: string;
}

/** What takes the message: the code of a deployment, or an application that has registered its address in the place of one. */
async function targetOf(
  { deployments, registeredApps }: Needs,
  scope: Scope,
  id: DeploymentId,
): Promise<Target | { readonly refused: 'not_found' | 'deployment_not_verified' | 'no_devkit' }> {
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined) return (await registeredApp({ registeredApps }, scope, id)) ?? { refused: 'not_found' };
  const { devkit } = deployment.manifest;
  if (devkit === undefined) return { refused: 'no_devkit' };
  return deployment.verifiedAt === undefined ? { refused: 'deployment_not_verified' } : devkit;
}

function healthyOf({ workflowCoreVersion, specVersion }: JsonObject, latency: DurationMs): Health {
  return {
    kind: 'healthy',
    latency,
    ...(typeof workflowCoreVersion === 'string' ? { sdkVersion: workflowCoreVersion } : {}),
    ...(typeof specVersion === 'number' ? { specVersion } : {}),
  };
}

/** The JSON that the chunks contain; undefined while it is not complete. */
function answerIn(chunks: readonly JsonValue[]): JsonObject | undefined {
  const text = Buffer.concat(chunks.map(bytesOf)).toString('utf8');
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function bytesOf(chunk: JsonValue): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  const base64 = isJsonObject(chunk) ? chunk['$bytes'] : undefined;
  return Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64');
}
