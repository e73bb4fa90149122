/**
 * The spans of a run, read from its log: one for the run, and one for each attempt of a node, step or message. An attempt inside an
 * iteration of a loop is below the loop, and everything else is below the run. Attributes are ids, numbers and the product's own words: no
 * input, no output, no message of an error.
 */
import {
  type Attempt,
  attempt,
  type IterationKey,
  type NodeKey,
  type NodeRef,
  nodeKey,
  passKey,
  topLevel,
} from '../engine/ids.ts';
import type { StepMark } from '../engine/durable/step.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { RunEvent } from '../engine/log/events.ts';
import type { Head } from '../engine/log/head.ts';
import { type Instant, between, instant } from '../engine/time.ts';
import type { Span } from '../ports/spans.ts';
import { attemptSpanId, runSpanId } from './span-ids.ts';

/** Where a run is in its trace. */
export interface TracePlace {
  readonly traceId: string;
  /** absent: the run is the first span of its trace */
  readonly parentSpanId?: string;
}

interface OpenAttempt extends NodeRef {
  readonly attempt: Attempt;
  readonly askedAt: Instant;
  /** when it began, or began to wait; absent: nobody has begun with it */
  readonly begunAt?: Instant;
  readonly waitsFor?: 'time' | 'signal' | 'run' | 'iterations';
  readonly childRunId?: string;
  readonly step?: StepMark;
}

type Attributes = Span['attributes'];
type AttemptEnd = Extract<RunEvent, { type: 'NODE_COMPLETED' | 'NODE_FAILED' | 'NODE_RETRIED' }>;
type RunEnd = { readonly status: 'completed' | 'failed' | 'cancelled'; readonly endedAt: Instant; readonly error?: Attributes };

/** Keys of iterations in loops in loops grow long. */
const longestText = 256;

export class RunSpans {
  readonly #head: Head;
  readonly #place: TracePlace;
  readonly #open = new Map<NodeKey, OpenAttempt>();
  /** by the iterations that are under way: the span of the attempt of their loop */
  readonly #loops = new Map<IterationKey, string>();
  #end: RunEnd | undefined;

  constructor(head: Head, place: TracePlace) {
    this.#head = head;
    this.#place = place;
  }

  /** The attempts that the commit ended. Commits come in their order, the first included. */
  read(commit: Commit): readonly Span[] {
    return commit.events.flatMap((event) => this.#read(event, commit.at));
  }

  /** The run, and the attempts that ended with it; undefined while it goes on. */
  end(more: Attributes = {}): readonly Span[] | undefined {
    const end = this.#end;
    if (end === undefined) return undefined;
    const left = [...this.#open.values()].map((open) =>
      this.#attempt(open, open.attempt, open.begunAt ?? open.askedAt, end.endedAt, undefined, { 'stepwell.status': 'cancelled' }),
    );
    return [...left, this.#run(end, more)];
  }

  #read(event: RunEvent, at: Instant): readonly Span[] {
    switch (event.type) {
      case 'NODE_DISPATCHED':
        this.#note(event, event.attempt, at, event.step === undefined ? {} : { step: event.step });
        return [];
      case 'NODE_STARTED':
        this.#note(event, event.attempt, at, { begunAt: event.startedAt });
        return [];
      case 'SLEEP_STARTED':
        this.#wait(event, event.attempt, at, { waitsFor: 'time' });
        return [];
      case 'SIGNAL_AWAITED':
        this.#wait(event, event.attempt, at, { waitsFor: 'signal' });
        return [];
      case 'SUBFLOW_CALLED':
        this.#wait(event, event.attempt, at, { waitsFor: 'run', childRunId: event.childRunId });
        return [];
      case 'LOOP_STARTED':
        this.#wait(event, event.attempt, at, { waitsFor: 'iterations' });
        return [];
      case 'ITERATION_STARTED':
        this.#loops.set(passKey(event, event.index), attemptSpanId(this.#head.address.runId, event, event.attempt));
        return [];
      case 'ITERATION_ENDED':
        this.#loops.delete(passKey(event, event.index));
        return [];
      case 'NODE_COMPLETED':
      case 'NODE_FAILED':
      case 'NODE_RETRIED':
        return [this.#ended(event)];
      case 'RUN_COMPLETED':
        this.#end = { status: 'completed', endedAt: at };
        return [];
      case 'RUN_CANCELLED':
        this.#end = { status: 'cancelled', endedAt: at };
        return [];
      case 'RUN_FAILED':
      case 'RUN_TIMED_OUT':
        this.#end = { status: 'failed', endedAt: at, error: errorOf(event.error) };
        return [];
      default:
        return [];
    }
  }

  #note(ref: NodeRef, attempt: Attempt, at: Instant, more: Partial<OpenAttempt>): void {
    const key = nodeKey(ref);
    const known = this.#open.get(key);
    const base =
      known?.attempt === attempt
        ? known
        : { nodeId: ref.nodeId, iteration: ref.iteration, attempt, askedAt: at, ...stepOf(known) };
    this.#open.set(key, { ...base, ...more });
  }

  #wait(ref: NodeRef & { readonly step?: StepMark }, attempt: Attempt, at: Instant, more: Partial<OpenAttempt>): void {
    const begunAt = this.#open.get(nodeKey(ref))?.begunAt ?? at;
    this.#note(ref, attempt, at, { begunAt, ...more, ...stepOf(ref) });
  }

  #ended(event: AttemptEnd): Span {
    const key = nodeKey(event);
    const known = this.#open.get(key);
    // A node that was decided in its parent's commit was never asked for.
    const open: OpenAttempt =
      known?.attempt === event.attempt
        ? known
        : {
            nodeId: event.nodeId,
            iteration: event.iteration,
            attempt: event.attempt,
            askedAt: event.startedAt,
            ...stepOf(known),
          };
    this.#open.delete(key);
    // The next attempt waits from now on.
    if (event.type === 'NODE_RETRIED') this.#note(event, attempt(event.attempt + 1), event.endedAt, stepOf(open));
    const isDone = event.type === 'NODE_COMPLETED';
    return this.#attempt(
      open,
      event.attempt,
      instant(Math.min(event.startedAt, open.begunAt ?? event.startedAt)),
      event.endedAt,
      isDone ? 'ok' : 'error',
      {
        'stepwell.status': isDone ? 'completed' : event.type === 'NODE_RETRIED' ? 'retried' : 'failed',
        ...(isDone ? {} : errorOf(event.failure)),
        ...(event.tokens === undefined
          ? {}
          : { 'gen_ai.usage.input_tokens': event.tokens.input, 'gen_ai.usage.output_tokens': event.tokens.output }),
      },
    );
  }

  #attempt(
    open: OpenAttempt,
    attempt: Attempt,
    startedAt: Instant,
    endedAt: Instant,
    status: Span['status'],
    more: Attributes,
  ): Span {
    const { runId } = this.#head.address;
    const { iteration, nodeId, step, waitsFor, childRunId, askedAt } = open;
    return {
      traceId: this.#place.traceId,
      spanId: attemptSpanId(runId, open, attempt),
      parentSpanId: this.#loops.get(iteration) ?? runSpanId(runId),
      name: step === undefined ? `node ${nodeId}` : step.kind === 'drive' ? 'workflow task' : `step ${nodeId}`,
      startedAt,
      endedAt: instant(Math.max(startedAt, endedAt)),
      ...(status === undefined ? {} : { status }),
      attributes: {
        'stepwell.run.id': runId,
        'stepwell.node.id': nodeId,
        'stepwell.attempt': attempt,
        'stepwell.queued_ms': between(askedAt, startedAt),
        ...(iteration === topLevel ? {} : { 'stepwell.iteration': iteration.slice(0, longestText) }),
        ...(step === undefined ? {} : { 'stepwell.step.kind': step.kind }),
        ...(waitsFor === undefined ? {} : { 'stepwell.waits_for': waitsFor }),
        ...(childRunId === undefined ? {} : { 'stepwell.child_run.id': childRunId }),
        ...more,
      },
    };
  }

  #run({ status, endedAt, error = {} }: RunEnd, more: Attributes): Span {
    const { address, workflow, createdAt, deploymentId } = this.#head;
    const version = 'version' in workflow ? workflow.version : undefined;
    return {
      ...this.#place,
      spanId: runSpanId(address.runId),
      name: `run ${workflow.name}`,
      startedAt: createdAt,
      endedAt: instant(Math.max(createdAt, endedAt)),
      ...(status === 'cancelled' ? {} : { status: status === 'completed' ? 'ok' : 'error' }),
      attributes: {
        'stepwell.run.id': address.runId,
        'stepwell.project.id': address.projectId,
        'stepwell.environment': address.environment,
        'stepwell.workflow.name': workflow.name,
        ...(version === undefined ? {} : { 'stepwell.workflow.version': String(version) }),
        ...(deploymentId === null ? {} : { 'stepwell.deployment.id': deploymentId }),
        'stepwell.status': status,
        ...error,
        ...more,
      },
    };
  }
}

const stepOf = (of: { readonly step?: StepMark } | undefined): { readonly step?: StepMark } =>
  of?.step === undefined ? {} : { step: of.step };

/** The cause and the code are words of the product's; a message may hold what a user brought. */
const errorOf = ({ cause, code }: { readonly cause: string; readonly code?: string }): Attributes => ({
  'error.type': code ?? cause,
  'stepwell.failure.cause': cause,
});
