/** The log of an external-worker run as public events. Event ids count the events; extensions of a lease are no events. */
import { defined } from '../../base/defined.ts';
import { eventId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { PublicEventName } from '../log/event-names.ts';
import type { Failure } from '../log/events.ts';
import type { PublicEvent } from '../log/public-event.ts';
import { type Instant, between, iso } from '../time.ts';
import type { ExternalEntry, ExternalFact } from './entry.ts';
import { externalFailure } from './failure.ts';
import { type ExternalState, deadlineExceeded, withFact } from './fold.ts';
import type { ExternalRunId } from './run.ts';

type Event = readonly [type: PublicEventName, payload: JsonObject];

interface Attempt {
  readonly nodeId: string;
  readonly attempt: number;
}

/** Reads the entries of a log in order, in one call or in several. */
export class ExternalEvents {
  readonly #id: ExternalRunId;
  #state: ExternalState | undefined;
  #lastEventId = 0;
  readonly #attempts = new Map<string, Attempt>();
  readonly #attemptCounts = new Map<string, number>();

  constructor(id: ExternalRunId) {
    this.#id = id;
  }

  /** Undefined before the first entry. */
  get state(): ExternalState | undefined {
    return this.#state;
  }

  get lastEventId(): number {
    return this.#lastEventId;
  }

  read(entries: readonly ExternalEntry[]): readonly PublicEvent[] {
    return entries.flatMap(({ number, at, nonce, facts }) =>
      facts.flatMap((fact, index) => {
        const before = this.#state;
        const after = withFact(this.#id, before, { number: number + index, at, nonce, fact });
        this.#state = after;
        return this.#eventsOf(before, after, fact, at).map(([type, payload]) => this.#publicEvent(after, at, type, payload));
      }),
    );
  }

  #publicEvent({ run }: ExternalState, at: Instant, type: PublicEventName, payload: JsonObject): PublicEvent {
    this.#lastEventId += 1;
    const id = eventId(this.#lastEventId);
    return { eventId: id, sequence: id, type, runId: run.id, workflowId: run.workflowName, timestamp: iso(at), payload };
  }

  #eventsOf(before: ExternalState | undefined, { run, steps }: ExternalState, fact: ExternalFact, at: Instant): readonly Event[] {
    switch (fact.type) {
      case 'created':
        return [['input.set', { input: { value: fact.input } }]];
      case 'claimed': {
        const { workerId } = fact;
        if (before?.run.attempts === 0) return [['run.started', { workerId }]];
        return [['run.status.changed', { status: 'running', workerId }]];
      }
      case 'lease-extended':
        return [];
      case 'suspended':
        return [['run.status.changed', { status: 'running', wakeAt: iso(fact.availableAt) }]];
      case 'rescheduled':
        return [['run.retried', retryOf(run.attempts, externalFailure(fact.error), at, fact.availableAt)]];
      case 'completed':
        return [['run.completed', { output: { value: fact.output } }]];
      case 'failed':
        return [['run.failed', { error: jsonOf(externalFailure(fact.error)) }]];
      case 'expired':
        return [['run.timed_out', { error: jsonOf(externalFailure(deadlineExceeded)) }]];
      case 'cancelled':
        return [['run.cancelled', {}]];
      case 'step-begun': {
        const step = [...steps.values()].at(-1);
        return step === undefined ? [] : [begunEvent(fact, this.#begin(step.id, fact.stepName), at)];
      }
      case 'signal-delivered':
        return fact.waits.map((id) => {
          const context = steps.get(id)?.context;
          const name = context?.kind === 'signal-wait' ? context.signal : '';
          return ['signal.received', { ...this.#attempt(id), name, correlation: '' }];
        });
      default:
        return [this.#stepEvent(steps, fact, at)];
    }
  }

  #stepEvent(steps: ExternalState['steps'], fact: StepFact, at: Instant): Event {
    const { stepAttemptId: id } = fact;
    const attempt = this.#attempt(id);
    const span = { startedAt: iso(steps.get(id)?.startedAt ?? at), endedAt: iso(at) };
    switch (fact.type) {
      case 'step-completed':
        return ['node.completed', { ...attempt, output: { value: fact.output }, handle: null, ...span }];
      case 'step-failed':
        return ['node.failed', { ...attempt, failure: jsonOf(externalFailure(fact.error)), ...span }];
      case 'child-linked':
        return ['subflow.called', { ...attempt, childRunId: fact.child.runId }];
      case 'child-ended':
        return ['node.woken', { ...attempt, childRunId: fact.child.runId }];
    }
  }

  #begin(id: string, nodeId: string): Attempt & JsonObject {
    const attempt = (this.#attemptCounts.get(nodeId) ?? 0) + 1;
    this.#attemptCounts.set(nodeId, attempt);
    this.#attempts.set(id, { nodeId, attempt });
    return { nodeId, attempt };
  }

  #attempt(id: string): JsonObject {
    return { ...(this.#attempts.get(id) ?? { nodeId: id, attempt: 1 }) };
  }
}

type StepFact = Extract<ExternalFact, { stepAttemptId: unknown }>;

function begunEvent({ context, kind }: Extract<ExternalFact, { type: 'step-begun' }>, attempt: JsonObject, at: Instant): Event {
  switch (context?.kind) {
    case 'sleep':
      return ['node.waiting', { ...attempt, wakeAt: context.resumeAt }];
    case 'signal-wait':
      return ['signal.awaited', { ...attempt, name: context.signal, correlation: '', expiresAt: context.timeoutAt }];
    case 'workflow':
    case undefined:
      return ['node.started', { ...attempt, type: kind, startedAt: iso(at) }];
  }
}

const retryOf = (attempt: number, failure: Failure, at: Instant, retryAt: Instant): JsonObject => ({
  attempt,
  failure: jsonOf(failure),
  delayMs: Math.max(0, between(at, retryAt)),
  retryAt: iso(retryAt),
});

const jsonOf = ({ cause, message, code, details }: Failure): JsonValue => ({ ...defined({ cause, message, code, details }) });
