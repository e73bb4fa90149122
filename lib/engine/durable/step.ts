/**
 * Steps: commands of the author's code, each a node of its run. The key is the step's name, with a number from its second use on
 * (`charge`, `charge:1`): a replay of the same code produces the same keys.
 */
import { fnv, unitsOf } from '../fnv.ts';
import { type NodeId, nodeId } from '../ids.ts';
import type { DurationMs } from '../time.ts';

export const stepKinds = [
  /** the author's own function */
  'function',
  'sleep',
  /** calls another workflow and waits for it */
  'workflow',
  'signal-wait',
  'signal-send',
  /** undoes a completed step after the run failed or was cancelled */
  'rollback',
  /** not a step of the author: one execution of the code, from a message until it waits; it occupies the run like a job a node */
  'workflow_task',
] as const;
export type StepKind = (typeof stepKinds)[number];

/** Prefix of a rollback's key, before the key of the step. Names from authors never begin with it. */
export const rollbackPrefix = 'rollback:';

/** Retry policy of a step; absent fields have the defaults of `step-retry.ts`. */
export interface StepRetry {
  /** all attempts, the first included; 0: no limit */
  readonly maximumAttempts?: number;
  readonly initialIntervalMs?: DurationMs;
  readonly backoffCoefficient?: number;
  readonly maximumIntervalMs?: DurationMs;
}

/** The step in the log: replays compare it, and it remains readable without the code. */
export interface StepInfo {
  readonly kind: StepKind;
  readonly key: string;
  /** name of the called workflow, or of the signal */
  readonly target?: string;
  readonly retry?: StepRetry;
  /** the step is rolled back if the run does not succeed */
  readonly hasRollback?: true;
}

/** Used unchanged as node ids; `.x` begins an escaped character. */
const plainIdPattern = /^(?!\.)(?!.*\.x)[A-Za-z0-9_.:-]{1,128}$/;
const maxIdLength = 128;

/**
 * The node id of a step, derived from its key alone and unique per key. Characters that ids cannot contain are escaped (`charge card`
 * becomes `charge.x20.card`), and an id that is too long ends with a digest of the key.
 */
export function stepNodeId(key: string): NodeId {
  if (plainIdPattern.test(key)) return nodeId(key);
  const spelled = key.replaceAll(/[^A-Za-z0-9_:-]/gu, (char) => `.x${codeOf(char)}.`);
  if (spelled.length <= maxIdLength && spelled.includes('.x')) return nodeId(spelled);
  const suffix = `.xh${digest(key)}`;
  return nodeId(`${spelled.slice(0, maxIdLength - suffix.length)}${suffix}`);
}

const codeOf = (char: string): string => (char.codePointAt(0) ?? 0).toString(16);

/** Hashes the text in both directions, so that differing keys of one run practically never collide. */
const digest = (text: string): string => {
  const units = unitsOf(text);
  return [units, units.toReversed()].map((these) => fnv(these).toString(16).padStart(8, '0')).join('');
};

const workflowTaskPrefix = '.workflow-task.';

/** Workflow tasks are numbered from 1. No step's node id begins with a dot. */
export const workflowTaskNodeId = (number: number): NodeId => nodeId(`${workflowTaskPrefix}${number}`);

export const isWorkflowTaskNode = (id: NodeId): boolean => id.startsWith(workflowTaskPrefix);
