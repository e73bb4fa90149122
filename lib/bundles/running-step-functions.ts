/** Tracks which step functions of a workflow task may run, from its commits: a step starts when its command is committed. */
import { type History, type CommandBatch, type CommandBatchEntry } from '../engine/durable/command-batch.ts';
import { type Attempt, attempt, firstAttempt } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

interface StepFunctionState {
  readonly attempt: Attempt;
  /** it does not start before this time */
  readonly notBefore?: Instant;
}

export interface RunningStepFunction {
  readonly key: string;
  readonly attempt: Attempt;
}

export class RunningStepFunctions {
  readonly #stepFunctions = new Map<string, StepFunctionState>();

  /** Open steps without a retry time belong to an earlier workflow task. This task reports them as lost in its first batch. */
  constructor(open: History<unknown>['open']) {
    for (const { key, attempt: attemptNumber, retryAt } of open)
      if (retryAt !== undefined) this.#stepFunctions.set(key, { attempt: attemptNumber, notBefore: retryAt });
  }

  record({ entries }: CommandBatch): void {
    for (const entry of entries) this.#recordEntry(entry);
  }

  runningAt(now: Instant): readonly RunningStepFunction[] {
    return [...this.#stepFunctions]
      .filter(([, { notBefore }]) => notBefore === undefined || notBefore <= now)
      .map(([key, { attempt: attemptNumber }]) => ({ key, attempt: attemptNumber }));
  }

  #recordEntry(entry: CommandBatchEntry): void {
    switch (entry.kind) {
      case 'scheduled':
        if (entry.command.kind === 'function' || entry.command.kind === 'rollback')
          this.#stepFunctions.set(entry.command.key, { attempt: firstAttempt });
        return;
      case 'retried':
        this.#stepFunctions.set(entry.key, { attempt: attempt(entry.attempt + 1), notBefore: entry.retryAt });
        return;
      case 'completed':
      case 'failed':
        this.#stepFunctions.delete(entry.key);
        return;
      case 'returned':
      case 'threw':
      case 'rolled-back':
        return;
    }
  }
}
