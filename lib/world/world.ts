/** Builds a World over a transport. The host says where the World runs: in an application, or in a thread with deployed code. */
import { randomUUID } from 'node:crypto';
import { parseAnswer } from './answers.ts';
import { defined } from '../base/defined.ts';
import { once } from '../base/lazy.ts';
import type { WorldTransport } from './calls.ts';
import { type CheckDelivery, queueHandler } from './delivery.ts';
import { valueOf } from './errors.ts';
import { LargeValues, type TransferTools } from './large-values.ts';
import { type Ask, storageOf } from './storage.ts';
import { streamsOf } from './streams.ts';
import type { World, WorldCapabilities } from './types.ts';

export interface WorldHost {
  readonly capabilities: WorldCapabilities;
  readonly processExitTriggersQueueRedelivery?: boolean;
  /** the deployment of this process; undefined: it executes no runs */
  deploymentId(): Promise<string | undefined>;
  /** of the queues of this process: WORKFLOW_QUEUE_NAMESPACE; absent: none */
  queueNamespace?(): string | undefined;
  /** when the platform ends this process */
  runtimeDeadline(): Date | undefined;
  readonly checkDelivery: CheckDelivery;
  start(): Promise<void>;
}

export interface WorldOptions {
  readonly transport: WorldTransport;
  readonly host: WorldHost;
  /** called once, when the SDK asks */
  readonly specVersion: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
  /** for values that are too large for a call; default: those of this process */
  readonly transfers?: TransferTools;
}

/** Each flush is a write of its own, so small chunks of a stream travel together. */
const flushIntervalMs = 100;
const sleepByTimer = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The methods use no `this`: the SDK takes some of them out of the object. */
export function buildWorld({ transport, host, specVersion, sleep = sleepByTimer, transfers }: WorldOptions): World {
  const calls = new LargeValues(transport, transfers);
  const ask: Ask = async (method, body) => valueOf(await calls.call(method, body), method, body);
  const askDeploymentId = async (): Promise<string> => parseAnswer.deployment(await ask('deploymentId', {})).deploymentId;
  const keyOfRun = runKeys(ask);
  const versionOnce = once(specVersion);
  return {
    get specVersion() {
      return versionOnce();
    },
    capabilities: host.capabilities,
    ...defined({ processExitTriggersQueueRedelivery: host.processExitTriggersQueueRedelivery }),
    streamFlushIntervalMs: flushIntervalMs,
    ...storageOf(ask),
    ...streamsOf(ask, sleep),
    getDeploymentId: async () => (await host.deploymentId()) ?? askDeploymentId(),
    resolveLatestDeploymentId: askDeploymentId,
    queue: async (queueName, message, options = {}) => {
      const { idempotencyKey = randomUUID(), headers, delaySeconds, specVersion: version } = options;
      const own = options.deploymentId ?? (await host.deploymentId());
      const deploymentId = own ?? (isHealthCheck(message) ? await askDeploymentId() : undefined);
      const opts = defined({ deploymentId, idempotencyKey, headers, delaySeconds, specVersion: version });
      const named = ownQueue(queueName, host.queueNamespace?.());
      return parseAnswer.published(await ask('queue.publish', { queueName: named, message, opts }));
    },
    createQueueHandler: (prefix, handler) => queueHandler(prefix, handler, host.checkDelivery),
    getEncryptionKeyForRun: (run) => keyOfRun(typeof run === 'string' ? run : run.runId),
    getRuntimeDeadline: async () => host.runtimeDeadline(),
    start: () => host.start(),
    close: async () => {},
  };
}

/** It belongs to no run, so nothing but its message tells whose code must answer. The SDK's web pages name no deployment. */
const isHealthCheck = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && '__healthCheck' in message && message.__healthCheck === true;

const plainStepQueue = '__wkf_step_';

/** Version 4 sends its steps to queues without the namespace, and its own handler takes them from those with it only. */
const ownQueue = (queueName: string, namespace: string | undefined): string =>
  namespace !== undefined && queueName.startsWith(plainStepQueue) ? `__${namespace}${queueName.slice('_'.length)}` : queueName;

/** A key never changes, and the SDK asks for it with every message of the run. */
const maxRememberedKeys = 1_000;

function runKeys(ask: Ask): (runId: string) => Promise<Uint8Array | undefined> {
  const keys = new Map<string, Uint8Array | undefined>();
  return async (runId) => {
    if (keys.has(runId)) return keys.get(runId)?.slice();
    const { key } = parseAnswer.key(await ask('encryptionKey', { runId }));
    const [oldest] = keys.keys();
    if (keys.size >= maxRememberedKeys && oldest !== undefined) keys.delete(oldest);
    keys.set(runId, key ?? undefined);
    return key?.slice();
  };
}
