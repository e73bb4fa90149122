/** The fold of external-worker runs: entries in, state out. The same entries always fold to the same state. */
import type { Nonce } from '../ids.ts';
import { InvariantViolation, invariant } from '../invariant.ts';
import { type Instant, instant } from '../time.ts';
import type { ExternalEntry, ExternalFact } from './entry.ts';
import {
  type ExternalRunId,
  type Delivery,
  type ExternalRun,
  type RunLink,
  type StepAttempt,
  stepAttemptId,
  endOfLife,
  hasEnded,
} from './run.ts';

export interface ExternalState {
  readonly run: ExternalRun;
  /** in the order in which they began */
  readonly steps: ReadonlyMap<string, StepAttempt>;
  readonly deliveries: ReadonlyMap<string, Delivery>;
  /** ended child runs, by step attempt */
  readonly endedChildren: ReadonlyMap<string, RunLink>;
  /** number of the last fact */
  readonly last: number;
  /** when the run must be checked next, and the fact that set it; undefined once the run has ended */
  readonly nextCheck: NextCheck | undefined;
}

export interface NextCheck {
  readonly at: Instant;
  /** of the entry that contains the fact */
  readonly nonce: Nonce;
  /** of the fact */
  readonly number: number;
}

export const deadlineExceeded = { message: 'Workflow run deadline exceeded' };

/** @returns undefined if there are no entries */
export function foldExternal(
  id: ExternalRunId,
  state: ExternalState | undefined,
  entries: readonly ExternalEntry[],
): ExternalState | undefined {
  return entries.reduce<ExternalState | undefined>((before, entry) => withEntry(id, before, entry), state);
}

function withEntry(id: ExternalRunId, before: ExternalState | undefined, entry: ExternalEntry): ExternalState | undefined {
  const { facts, number, at, nonce } = entry;
  return facts.reduce<ExternalState | undefined>(
    (state, fact, index) => withFact(id, state, { number: number + index, at, nonce, fact }),
    before,
  );
}

/** A fact with its own number and the other fields of its entry. */
export interface NumberedFact extends Omit<ExternalEntry, 'facts'> {
  readonly fact: ExternalFact;
}

export function withFact(id: ExternalRunId, before: ExternalState | undefined, entry: NumberedFact): ExternalState {
  const { number, at, fact } = entry;
  invariant(number === (before?.last ?? 0) + 1, `fact ${number} of run ${id} comes after ${before?.last ?? 0}`);
  if (before === undefined) {
    invariant(fact.type === 'created', `run ${id} begins with ${fact.type} instead of created`);
    return withNextCheck(undefined, { ...emptyState, run: createdRun(id, fact, at), last: number, nextCheck: undefined }, entry);
  }
  const parts = { steps: before.steps, deliveries: before.deliveries, endedChildren: before.endedChildren };
  return withNextCheck(before, { ...parts, ...changed(before, entry), last: number, nextCheck: before.nextCheck }, entry);
}

const emptyState = {
  steps: new Map<string, StepAttempt>(),
  deliveries: new Map<string, Delivery>(),
  endedChildren: new Map<string, RunLink>(),
};

const createdRun = (id: ExternalRunId, fact: Extract<ExternalFact, { type: 'created' }>, at: Instant): ExternalRun => {
  const { type: _type, ...creation } = fact;
  return {
    ...creation,
    id,
    status: 'pending',
    output: null,
    error: null,
    attempts: 0,
    workerId: null,
    startedAt: null,
    finishedAt: null,
    createdAt: at,
    updatedAt: at,
  };
};

/** If the time of the next check changes, this fact becomes the one that set it. */
function withNextCheck(before: ExternalState | undefined, state: ExternalState, { nonce, number }: NumberedFact): ExternalState {
  const at = nextCheckAt(state.run);
  if (at === undefined) return { ...state, nextCheck: undefined };
  return at === before?.nextCheck?.at ? state : { ...state, nextCheck: { at, nonce, number } };
}

const nextCheckAt = (run: ExternalRun): Instant | undefined =>
  run.availableAt === null ? undefined : instant(Math.min(run.availableAt, endOfLife(run)));

type Changed = Pick<ExternalState, 'run'> & Partial<Pick<ExternalState, 'steps' | 'deliveries' | 'endedChildren'>>;

function changed(before: ExternalState, { number, at, fact }: NumberedFact): Changed {
  const { run } = before;
  switch (fact.type) {
    case 'created':
      throw new InvariantViolation(`run ${run.id} is created twice`);
    case 'claimed': {
      const { workerId, leaseUntil } = fact;
      const startedAt = run.startedAt ?? at;
      const attempts = run.attempts + 1;
      return { run: { ...run, status: 'running', attempts, workerId, availableAt: leaseUntil, startedAt, updatedAt: at } };
    }
    case 'lease-extended':
      return { run: { ...run, availableAt: fact.leaseUntil, updatedAt: at } };
    case 'suspended':
      return { run: { ...run, availableAt: fact.availableAt, workerId: null, updatedAt: at } };
    case 'completed':
      return { run: { ...ended(run, 'completed', at), output: fact.output, error: null, workerId: run.workerId } };
    case 'failed':
      return { run: { ...ended(run, 'failed', at), error: fact.error, startedAt: null } };
    case 'expired':
      return { run: { ...ended(run, 'failed', at), error: deadlineExceeded } };
    case 'cancelled':
      return { run: ended(run, 'cancelled', at) };
    case 'rescheduled': {
      const { error, availableAt } = fact;
      return { run: { ...run, status: 'pending', error, availableAt, workerId: null, startedAt: null, updatedAt: at } };
    }
    case 'step-begun': {
      const { type: _type, ...begun } = fact;
      const id = stepAttemptId(run.id, number);
      const none = { output: null, error: null, child: null, finishedAt: null };
      return withStep(before, { ...begun, ...none, id, status: 'running', startedAt: at, updatedAt: at });
    }
    case 'step-completed': {
      const { stepAttemptId: id, output } = fact;
      return withStep(before, { ...stepOf(before, id), status: 'completed', output, finishedAt: at, updatedAt: at });
    }
    case 'step-failed': {
      const { stepAttemptId: id, error } = fact;
      return withStep(before, { ...stepOf(before, id), status: 'failed', error, finishedAt: at, updatedAt: at });
    }
    case 'child-linked':
      return withStep(before, { ...stepOf(before, fact.stepAttemptId), child: fact.child, updatedAt: at });
    case 'child-ended':
      return {
        run: wakeRun(run, at),
        endedChildren: new Map([...before.endedChildren, [fact.stepAttemptId, fact.child]]),
      };
    case 'signal-delivered': {
      const { data, sendId, waits } = fact;
      const delivered = waits.map((id) => [id, { data, sendId }] as const);
      return { run: wakeRun(run, at), deliveries: new Map([...before.deliveries, ...delivered]) };
    }
  }
}

const ended = (run: ExternalRun, status: ExternalRun['status'], at: Instant): ExternalRun => ({
  ...run,
  status,
  workerId: null,
  availableAt: null,
  finishedAt: at,
  updatedAt: at,
});

/** A run with a worker needs no wake-up: the worker checks its waits before it suspends the run. */
const wakeRun = (run: ExternalRun, at: Instant): ExternalRun =>
  hasEnded(run) || run.workerId !== null || run.availableAt === null || run.availableAt <= at
    ? run
    : { ...run, availableAt: at, updatedAt: at };

const withStep = ({ run, steps }: ExternalState, step: StepAttempt): Changed => ({
  run,
  steps: new Map([...steps, [step.id, step]]),
});

function stepOf({ run, steps }: ExternalState, id: string): StepAttempt {
  const step = steps.get(id);
  invariant(step !== undefined, `run ${run.id} has no step attempt ${id}`);
  return step;
}
