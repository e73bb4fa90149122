/** The log of an external-worker run: entries, each with one or more facts. */
import type { Nonce } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { Instant } from '../time.ts';
import type { StepAttemptId, ErrorRecord, ExternalRun, RunLink, StepAttemptContext, StepKind } from './run.ts';

export interface ExternalEntry {
  /** number of its first fact; facts are numbered 1, 2, 3 … without a gap, so the next entry has this number plus the count of facts */
  readonly number: number;
  /** lets the writer recognise its own put */
  readonly nonce: Nonce;
  readonly at: Instant;
  /** at least one; several only if each of them may share an entry */
  readonly facts: readonly ExternalFact[];
}

/** Number of the entry's last fact. */
export const lastNumber = ({ number, facts }: Pick<ExternalEntry, 'number' | 'facts'>): number => number + facts.length - 1;

/** The entries after that number, up to the first gap. @param entries ordered by number */
export function inSequence(entries: readonly ExternalEntry[], after: number): readonly ExternalEntry[] {
  let last = after;
  const gap = entries.findIndex((entry) => {
    if (entry.number !== last + 1) return true;
    last = lastNumber(entry);
    return false;
  });
  return gap === -1 ? entries : entries.slice(0, gap);
}

export type ExternalCreation = Pick<
  ExternalRun,
  'workflowName' | 'version' | 'idempotencyKey' | 'config' | 'context' | 'input' | 'parent' | 'deadlineAt'
> & { readonly availableAt: Instant };

export type ExternalFact =
  | ({ readonly type: 'created' } & ExternalCreation)
  | { readonly type: 'claimed'; readonly workerId: string; readonly leaseUntil: Instant }
  | { readonly type: 'lease-extended'; readonly leaseUntil: Instant }
  | { readonly type: 'suspended'; readonly availableAt: Instant }
  | { readonly type: 'completed'; readonly output: JsonValue }
  | { readonly type: 'failed'; readonly error: ErrorRecord }
  /** the deadline has passed */
  | { readonly type: 'expired' }
  | { readonly type: 'rescheduled'; readonly error: ErrorRecord; readonly availableAt: Instant }
  | { readonly type: 'cancelled' }
  | {
      readonly type: 'step-begun';
      readonly stepName: string;
      readonly kind: StepKind;
      readonly config: JsonValue;
      readonly context: StepAttemptContext | null;
    }
  | { readonly type: 'step-completed'; readonly stepAttemptId: StepAttemptId; readonly output: JsonValue }
  | { readonly type: 'step-failed'; readonly stepAttemptId: StepAttemptId; readonly error: ErrorRecord }
  | { readonly type: 'child-linked'; readonly stepAttemptId: StepAttemptId; readonly child: RunLink }
  /** a child run of a step has ended; its link may arrive later */
  | { readonly type: 'child-ended'; readonly stepAttemptId: StepAttemptId; readonly child: RunLink }
  | {
      readonly type: 'signal-delivered';
      readonly waits: readonly StepAttemptId[];
      readonly data: JsonValue;
      readonly sendId: string;
    };

/**
 * Facts about steps change neither the run's status nor its worker, so several in one entry need the same effects as one. A fact about
 * the run has an entry of its own: its effects follow from that fact alone.
 */
export function mayShareEntry({ type }: ExternalFact): boolean {
  switch (type) {
    case 'step-begun':
    case 'step-completed':
    case 'step-failed':
    case 'child-linked':
    case 'child-ended':
    case 'signal-delivered':
      return true;
    case 'created':
    case 'claimed':
    case 'lease-extended':
    case 'suspended':
    case 'completed':
    case 'failed':
    case 'expired':
    case 'rescheduled':
    case 'cancelled':
      return false;
  }
}
