/**
 * The messages of a bundle run, and what the code's response to one means. Each message is a node of the run; its content is in the
 * context under a hidden key.
 */
import { defined } from '../../base/defined.ts';
import { type NodeId, type RunId, nodeId } from '../ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { maxDeadline } from '../log/head.ts';
import { type DurationMs, durationMs } from '../time.ts';

/** The bundle of the artifact that receives a message. */
export type Lane = 'workflow' | 'step';

/** `__wkf_workflow_<name>`, `__wkf_step_<name>`, also with a namespace: `__<namespace>_wkf_workflow_<name>`. */
export const queueNamePattern = /^__(?:[a-z][a-z0-9]*_)?wkf_(?<lane>workflow|step)_(?<name>[\x21-\x7e]{1,200})$/;

/** The workflow or step of a queue; undefined if the name is not a queue name. */
export function parseQueueName(queueName: string): { readonly lane: Lane; readonly name: string } | undefined {
  const { lane, name } = queueNamePattern.exec(queueName)?.groups ?? {};
  return (lane === 'workflow' || lane === 'step') && name !== undefined ? { lane, name } : undefined;
}

export const laneOf = (queueName: string): Lane | undefined => parseQueueName(queueName)?.lane;

/** Of the variable WORKFLOW_QUEUE_NAMESPACE of an app. Its code takes messages of queues with its namespace only. */
export const queueNamespacePattern = /^[a-z][a-z0-9]{0,63}$/;

/** @param namespace of the app; undefined: none */
export const workflowQueue = (workflow: string, namespace?: string): string =>
  `__${namespace === undefined ? '' : `${namespace}_`}wkf_workflow_${workflow}`;
export const stepQueue = (step: string): string => `__wkf_step_${step}`;

export interface Message {
  readonly queueName: string;
  readonly body: JsonValue;
  /** reason of a resume request, if given */
  readonly reason?: string;
  readonly payload?: JsonValue;
}

const lanePrefix = { workflow: 'msg_w', step: 'msg_s' } as const satisfies Record<Lane, string>;

/** @param uniqueRunId a new id; its ULID becomes the message id */
export const messageId = (lane: Lane, uniqueRunId: RunId): NodeId =>
  nodeId(`${lanePrefix[lane]}${uniqueRunId.slice('wrun_'.length)}`);

/** Messages to the run's workflow are processed in order; step messages run in parallel. */
export const isStepMessage = (id: NodeId): boolean => id.startsWith(lanePrefix.step);

export const messageKey = (id: NodeId): string => `__message_${id}`;

export const storedMessage = ({ queueName, body, reason, payload }: Message): JsonObject =>
  defined({
    queueName,
    body,
    reason,
    payload,
  });

/** The stored message; undefined if the value is not one. */
export function parseMessage(value: JsonValue): Message | undefined {
  if (!isJsonObject(value)) return undefined;
  const { queueName, body, reason, payload } = value;
  if (typeof queueName !== 'string' || body === undefined) return undefined;
  return defined({
    queueName,
    body,
    reason: typeof reason === 'string' ? reason : undefined,
    payload,
  });
}

/** The outcome of delivering a message to the code. */
export type InvocationResult =
  | { readonly kind: 'responded'; readonly status: number; readonly body: JsonValue | undefined }
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'unloadable'; readonly message: string };

export type MessageResult =
  /** the message is processed; the run continues */
  | { readonly kind: 'done' }
  /** send the same content again later, as a new message */
  | { readonly kind: 'redeliver'; readonly afterMs: DurationMs }
  | { readonly kind: 'run-completed'; readonly output: JsonValue }
  | { readonly kind: 'run-failed'; readonly failure: Failure }
  /** retry the message */
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Interprets the response of the deployed code to a message. */
export function messageResultOf(invocation: InvocationResult): MessageResult {
  switch (invocation.kind) {
    case 'crashed':
      return { kind: 'failed', failure: { cause: 'error', code: 'code_crashed', message: invocation.message } };
    case 'timed_out':
      return {
        kind: 'failed',
        failure: { cause: 'timeout', code: 'timeout', message: 'the code did not respond before its timeout' },
      };
    case 'unloadable':
      return { kind: 'failed', failure: { cause: 'invalid', code: 'artifact_unusable', message: invocation.message } };
    case 'responded':
      return resultOfResponse(invocation.status, invocation.body);
  }
}

function resultOfResponse(status: number, body: JsonValue | undefined): MessageResult {
  const requestedSeconds = isJsonObject(body) ? body['timeoutSeconds'] : undefined;
  if ((status === 200 || status === 503) && typeof requestedSeconds === 'number' && requestedSeconds >= 0) {
    return { kind: 'redeliver', afterMs: durationMs(Math.min(requestedSeconds * 1_000, maxDeadline)) };
  }
  if (status !== 200) {
    return {
      kind: 'failed',
      failure: { cause: 'error', code: 'code_refused', message: `the code responded with status ${status}` },
    };
  }
  return (isJsonObject(body) ? runEndIn(body['run']) : undefined) ?? { kind: 'done' };
}

function runEndIn(runStatus: JsonValue | undefined): MessageResult | undefined {
  if (!isJsonObject(runStatus)) return undefined;
  if (runStatus['status'] === 'completed') return { kind: 'run-completed', output: runStatus['output'] ?? null };
  if (runStatus['status'] !== 'failed') return undefined;
  const error = isJsonObject(runStatus['error']) ? runStatus['error'] : {};
  const { message, code } = error;
  return {
    kind: 'run-failed',
    failure: defined({
      cause: 'error',
      message: typeof message === 'string' ? message : 'the code reported that the run failed, without a message',
      code: typeof code === 'string' ? code : undefined,
    }),
  };
}
