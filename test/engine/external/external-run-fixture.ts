/** An external-worker run driven by a test: each decision is added to its log and folded, as the backend does. */
import { expect } from 'vitest';
import { nonce } from '../../../lib/engine/ids.ts';
import { type Decision, type ExternalRetry, decideClaim, decideStep } from '../../../lib/engine/external/decide.ts';
import type { ExternalCreation, ExternalEntry, ExternalFact } from '../../../lib/engine/external/entry.ts';
import { type ExternalState, foldExternal } from '../../../lib/engine/external/fold.ts';
import {
  type StepAttemptId,
  type StepAttemptContext,
  type StepKind,
  externalRunId,
  stepAttemptId,
} from '../../../lib/engine/external/run.ts';
import { type DurationMs, after, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';

export const theRun = externalRunId('0f8fad5b-d9cb-469f-a165-70867728950e');
export const nonceOf = (number: number) => nonce(`01ARZ3NDEKTSV4RRFF${String(number).padStart(8, '0')}`);
export const lease = seconds(30);
export const refused: Decision = { kind: 'refused' };
export const unchanged: Decision = { kind: 'unchanged' };
export const commits = (fact: ExternalFact): Decision => ({ kind: 'commit', fact });
export const retry: ExternalRetry = {
  initialInterval: 1_000,
  backoffCoefficient: 2,
  maximumInterval: 100_000,
  maximumAttempts: 0,
};

/** The creation that tests use by default. */
export const creation: ExternalCreation = {
  workflowName: 'greet',
  version: 'v1',
  idempotencyKey: 'once',
  config: {},
  context: null,
  input: { name: 'Ada' },
  parent: null,
  deadlineAt: null,
  availableAt: dawn,
};

export class ExternalRunFixture {
  readonly entries: ExternalEntry[] = [];
  now = dawn;

  constructor(given: Partial<ExternalCreation> = {}) {
    this.put({ type: 'created', ...creation, ...given });
  }

  get state(): ExternalState {
    const state = foldExternal(theRun, undefined, this.entries);
    if (state === undefined) throw new Error('the run has no entries');
    return state;
  }

  get run(): ExternalState['run'] {
    return this.state.run;
  }

  later(wait: DurationMs): this {
    this.now = after(this.now, wait);
    return this;
  }

  put(...facts: readonly ExternalFact[]): this {
    for (const fact of facts) {
      const number = this.entries.length + 1;
      this.entries.push({ number, nonce: nonceOf(number), at: this.now, facts: [fact] });
    }
    return this;
  }

  claimed(by = 'one'): this {
    const decision = decideClaim(this.state, by, lease, this.now);
    expect(decision).toMatchObject({ kind: 'commit', fact: { type: 'claimed' } });
    return this.#commit(decision);
  }

  /** By the worker that holds the run. */
  begins(kind: StepKind, context: StepAttemptContext | null = null): StepAttemptId {
    const stepName = `step-${this.entries.length}`;
    const decision = decideStep(this.state, this.run.workerId ?? 'unknown', { stepName, kind, config: {}, context });
    this.#commit(decision);
    return stepAttemptId(theRun, this.entries.length);
  }

  #commit(decision: Decision): this {
    if (decision.kind !== 'commit') throw new Error(`the decision is ${decision.kind}`);
    return this.put(decision.fact);
  }
}
