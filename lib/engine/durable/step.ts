/**
 * Steps: commands of the author's code, each a node of its run. The key is the step's name, with a number from its second use on
 * (`charge`, `charge:1`): a replay of the same code produces the same keys.
 */
import { backoffMs } from '../../base/retry.ts';
import { fnv, unitsOf } from '../../base/fnv.ts';
import { type NodeId, nodeId } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import { type DurationMs, type Instant, after, durationMs, seconds } from '../time.ts';

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

/** Failure code of a step whose called run did not end before the wait expired. */
export const workflowExpiredCode = 'workflow_expired';

/** Prefix of a rollback's key, before the key of the step. Names from authors never begin with it. */
export const rollbackPrefix = 'rollback:';

/** Retry policy of a step; absent fields have the values of `stepRetryDefaults`. */
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

/** Defaults of the code document. */
export const stepRetryDefaults = {
  maximumAttempts: 10,
  initialIntervalMs: seconds(1),
  backoffCoefficient: 2,
  maximumIntervalMs: seconds(100),
} as const satisfies Required<StepRetry>;

/** A workflow runs once, unless it declares a retry policy. */
export const workflowRetryDefaults = { ...stepRetryDefaults, maximumAttempts: 1 } as const satisfies Required<StepRetry>;

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: DurationMs; readonly retryAt: Instant }
  | { readonly kind: 'give_up' };

/**
 * Whether a failed step or workflow is retried. The delay follows the formula of the code document:
 * `min(initial × coefficient^(attempt − 1), maximum)`, without jitter.
 * @param failedAttempt the attempt that failed, from 1
 * @param isFinal the code declared that a retry is useless
 */
export function decideRetry(
  policy: Required<StepRetry>,
  {
    failedAttempt,
    isFinal,
    now,
    deadlineAt,
  }: {
    readonly failedAttempt: number;
    readonly isFinal: boolean;
    readonly now: Instant;
    readonly deadlineAt: Instant;
  },
): RetryDecision {
  if (isFinal || (policy.maximumAttempts > 0 && failedAttempt >= policy.maximumAttempts)) return { kind: 'give_up' };
  const delayMs = intervalAfter(policy, failedAttempt);
  const retryAt = after(now, delayMs);
  // At or after the deadline the retry would never run.
  return retryAt >= deadlineAt ? { kind: 'give_up' } : { kind: 'retry', delayMs, retryAt };
}

const intervalAfter = (
  { initialIntervalMs, backoffCoefficient, maximumIntervalMs }: Required<StepRetry>,
  failedAttempt: number,
) =>
  durationMs(
    Math.round(backoffMs({ baseMs: initialIntervalMs, factor: backoffCoefficient, maxMs: maximumIntervalMs }, failedAttempt)),
  );

/** Whether no retry can succeed. */
export const isFinalFailure = ({ cause }: Pick<Failure, 'cause'>): boolean => cause === 'invalid' || cause === 'code_error';
