/**
 * Steps: what the author's code asks for, each a node of its run. A key is the name of the step, and from its second use on
 * the name with a number behind it (`charge`, `charge:1`): the same code asks under the same keys each time it is replayed.
 */
import { fnv, unitsOf } from '../fnv.ts';
import { type NodeId, nodeId } from '../ids.ts';
import type { DurationMs } from '../time.ts';

export const stepKinds = [
  /** the author's own function */
  'function',
  'sleep',
  /** another workflow is called, and waited for */
  'workflow',
  'signal-wait',
  'signal-send',
  /** undoes a step that was done, after the run has failed or was cancelled */
  'rollback',
  /** no step of the author's: one go of the code, from a message to the next rest. It holds the run as a job holds a node. */
  'workflow_task',
] as const;
export type StepKind = (typeof stepKinds)[number];

/** The key of a rollback is this and that of the step. No name of the author's begins so. */
export const rollbackPrefix = 'rollback:';

/** How often a step that throws is tried; absent fields are the defaults (`step-retry.ts`). */
export interface StepRetry {
  /** all tries, the first included; 0: without end */
  readonly maximumAttempts?: number;
  readonly initialIntervalMs?: DurationMs;
  readonly backoffCoefficient?: number;
  readonly maximumIntervalMs?: DurationMs;
}

/** What the log says of a node that is a step: what a replay is compared with, and what outlives the code. */
export interface StepInfo {
  readonly kind: StepKind;
  readonly key: string;
  /** the workflow that is called, or the signal's name */
  readonly target?: string;
  readonly retry?: StepRetry;
  /** once it is done, an end other than the good one undoes it */
  readonly hasRollback?: true;
}

/** As they stand; `.` and `x` together begin the spelling of any other character. */
const plainIdPattern = /^(?!\.)(?!.*\.x)[A-Za-z0-9_.:-]{1,128}$/;
const maxIdLength = 128;

/**
 * The node of a step. It follows from the key alone, and no two keys have the same: what is no plain id is spelled out
 * (`charge card` is `charge.x20.card`), and what is too long for one ends with a number made from all of it.
 */
export function stepNodeId(key: string): NodeId {
  if (plainIdPattern.test(key)) return nodeId(key);
  const spelled = key.replaceAll(/[^A-Za-z0-9_:-]/gu, (char) => `.x${codeOf(char)}.`);
  if (spelled.length <= maxIdLength && spelled.includes('.x')) return nodeId(spelled);
  const suffix = `.xh${digest(key)}`;
  return nodeId(`${spelled.slice(0, maxIdLength - suffix.length)}${suffix}`);
}

const codeOf = (char: string): string => (char.codePointAt(0) ?? 0).toString(16);

/** From both ends: keys of one run that differ are told apart by more than chance. */
const digest = (text: string): string => {
  const units = unitsOf(text);
  return [units, units.toReversed()].map((these) => fnv(these).toString(16).padStart(8, '0')).join('');
};

const workflowTaskPrefix = '.workflow-task.';

/** The nodes of drives are counted from 1. No step's node begins with a dot. */
export const workflowTaskNodeId = (number: number): NodeId => nodeId(`${workflowTaskPrefix}${number}`);

export const isWorkflowTaskNode = (id: NodeId): boolean => id.startsWith(workflowTaskPrefix);
