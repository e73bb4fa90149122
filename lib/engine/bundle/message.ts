/** The messages of a bundle run. Each is a node of the run; its content is in the context under a hidden key. */
import { defined } from '../../base/defined.ts';
import { type NodeId, type RunId, nodeId } from '../ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';

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

export const workflowQueue = (workflow: string): string => `__wkf_workflow_${workflow}`;
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
