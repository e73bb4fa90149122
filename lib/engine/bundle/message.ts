/** The messages of a fetch run. Each is a node of its fold, and what it says lies in the context under a hidden key. */
import { defined } from '../defined.ts';
import { type NodeId, type RunId, nodeId } from '../ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';

/** Which bundle of the artifact takes a message. */
export type Lane = 'workflow' | 'step';

/** `__wkf_workflow_<name>`, `__wkf_step_<name>`, also with a namespace: `__<namespace>_wkf_workflow_<name>`. */
export const queueNamePattern = /^__(?:[a-z][a-z0-9]*_)?wkf_(?<lane>workflow|step)_(?<name>[\x21-\x7e]{1,200})$/;

/** Which workflow or step a queue is of; undefined: the name is none of a queue. */
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
  /** why the run is told to go on, where somebody said so */
  readonly reason?: string;
  readonly payload?: JsonValue;
}

const lanePrefix = { workflow: 'msg_w', step: 'msg_s' } as const satisfies Record<Lane, string>;

/** @param uniqueRunId an id that nothing else has; its ULID becomes the message's */
export const messageId = (lane: Lane, uniqueRunId: RunId): NodeId =>
  nodeId(`${lanePrefix[lane]}${uniqueRunId.slice('wrun_'.length)}`);

/** Messages to a run's workflow follow each other; its steps go side by side. */
export const isStepMessage = (id: NodeId): boolean => id.startsWith(lanePrefix.step);

export const messageKey = (id: NodeId): string => `__message_${id}`;

export const storedMessage = ({ queueName, body, reason, payload }: Message): JsonObject =>
  defined({
    queueName,
    body,
    reason,
    payload,
  });

/** The message as it was stored; undefined where it is none. */
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
