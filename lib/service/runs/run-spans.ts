/**
 * Builds the spans of a run from its log: one for the request that started it, one for the run, and one for each attempt of a node,
 * step or message. The parent of an attempt inside a loop iteration is the loop's attempt; every other parent is the run. Attributes
 * contain only ids, numbers and fixed terms, never an input, an output or an error message.
 */
import { defined } from '../../base/defined.ts';
import {
  type Attempt,
  attempt,
  type IterationKey,
  type NodeKey,
  type NodeRef,
  nodeKey,
  iterationKeyOf,
  topLevel,
} from '../../engine/ids.ts';
import type { StepInfo } from '../../engine/durable/step.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import type { Head } from '../../engine/log/head.ts';
import { rerunOf } from '../../engine/log/lineage.ts';
import { type Instant, between, instant } from '../../engine/time.ts';
import type { Span } from '../../ports/spans.ts';
import { attemptSpanId, runSpanId } from './span-ids.ts';

/** The position of a run in its trace. */
export interface TracePosition {
  readonly traceId: string;
  /** absent: the run is the root span of its trace */
  readonly parentSpanId?: string;
  /** the request that started the run; absent: a node, a schedule or an earlier version of Stepwell started it */
  readonly request?: { readonly spanId: string; readonly parentSpanId?: string };
}

interface OpenAttempt extends NodeRef {
  readonly attempt: Attempt;
  readonly queuedAt: Instant;
  /** when it started or started to wait; absent: no worker has started it */
  readonly begunAt?: Instant;
  readonly waitsFor?: 'time' | 'signal' | 'run' | 'iterations';
  readonly childRunId?: string;
  readonly step?: StepInfo;
}

type Attributes = Span['attributes'];
type AttemptEnd = Extract<RunEvent, { type: 'NODE_COMPLETED' | 'NODE_FAILED' | 'NODE_RETRIED' }>;
type RunEnd = { readonly status: 'completed' | 'failed' | 'cancelled'; readonly endedAt: Instant; readonly error?: Attributes };

/** Iteration keys of nested loops can be long. */
const maxTextLength = 256;

export class RunSpans {
  readonly #head: Head;
  readonly #position: TracePosition;
  readonly #open = new Map<NodeKey, OpenAttempt>();
  /** open iterations with the span id of their loop's attempt */
  readonly #loops = new Map<IterationKey, string>();
  #end: RunEnd | undefined;

  constructor(head: Head, position: TracePosition) {
    this.#head = head;
    this.#position = position;
  }

  /** @returns the spans of the attempts that the commit ended. Commits must be read in order, from the first one on. */
  read(commit: Commit): readonly Span[] {
    return commit.events.flatMap((event) => this.#read(event, commit.at));
  }

  /**
   * @returns the spans of the attempts that ended with the run, and the last two: of the request that started it, and of the run;
   * undefined while the run is open
   */
  end(extra: Attributes = {}): { readonly open: readonly Span[]; readonly last: readonly Span[] } | undefined {
    const end = this.#end;
    if (end === undefined) return undefined;
    const open = [...this.#open.values()].map((attempt) =>
      this.#attempt(attempt, attempt.attempt, attempt.begunAt ?? attempt.queuedAt, end.endedAt, undefined, {
        'stepwell.status': 'cancelled',
      }),
    );
    return { open, last: [...this.#request(), this.#run(end, extra)] };
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
        this.#loops.set(iterationKeyOf(event, event.index), attemptSpanId(this.#head.address.runId, event, event.attempt));
        return [];
      case 'ITERATION_ENDED':
        this.#loops.delete(iterationKeyOf(event, event.index));
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

  #note(ref: NodeRef, attempt: Attempt, at: Instant, extra: Partial<OpenAttempt>): void {
    const key = nodeKey(ref);
    const known = this.#open.get(key);
    const base =
      known?.attempt === attempt
        ? known
        : { nodeId: ref.nodeId, iteration: ref.iteration, attempt, queuedAt: at, ...stepOf(known) };
    this.#open.set(key, { ...base, ...extra });
  }

  #wait(ref: NodeRef & { readonly step?: StepInfo }, attempt: Attempt, at: Instant, extra: Partial<OpenAttempt>): void {
    const begunAt = this.#open.get(nodeKey(ref))?.begunAt ?? at;
    this.#note(ref, attempt, at, { begunAt, ...extra, ...stepOf(ref) });
  }

  #ended(event: AttemptEnd): Span {
    const key = nodeKey(event);
    const known = this.#open.get(key);
    // A node decided in its parent's commit was never dispatched.
    const open: OpenAttempt =
      known?.attempt === event.attempt
        ? known
        : {
            nodeId: event.nodeId,
            iteration: event.iteration,
            attempt: event.attempt,
            queuedAt: event.startedAt,
            ...stepOf(known),
          };
    this.#open.delete(key);
    // The next attempt is queued from now on.
    if (event.type === 'NODE_RETRIED') this.#note(event, attempt(event.attempt + 1), event.endedAt, stepOf(open));
    const isCompleted = event.type === 'NODE_COMPLETED';
    return this.#attempt(
      open,
      event.attempt,
      instant(Math.min(event.startedAt, open.begunAt ?? event.startedAt)),
      event.endedAt,
      isCompleted ? 'ok' : 'error',
      {
        'stepwell.status': isCompleted ? 'completed' : event.type === 'NODE_RETRIED' ? 'retried' : 'failed',
        ...(isCompleted ? {} : errorOf(event.failure)),
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
    extra: Attributes,
  ): Span {
    const { runId } = this.#head.address;
    const { iteration, nodeId, step, waitsFor, childRunId, queuedAt } = open;
    return defined({
      traceId: this.#position.traceId,
      spanId: attemptSpanId(runId, open, attempt),
      parentSpanId: this.#loops.get(iteration) ?? runSpanId(runId),
      name: step === undefined ? `node ${nodeId}` : step.kind === 'workflow_task' ? 'workflow task' : `step ${nodeId}`,
      startedAt,
      endedAt: instant(Math.max(startedAt, endedAt)),
      status,
      attributes: {
        'stepwell.run.id': runId,
        'stepwell.node.id': nodeId,
        'stepwell.attempt': attempt,
        'stepwell.queued_ms': between(queuedAt, startedAt),
        ...(iteration === topLevel ? {} : { 'stepwell.iteration': iteration.slice(0, maxTextLength) }),
        ...(step === undefined ? {} : { 'stepwell.step.kind': step.kind }),
        ...(waitsFor === undefined ? {} : { 'stepwell.waits_for': waitsFor }),
        ...(childRunId === undefined ? {} : { 'stepwell.child_run.id': childRunId }),
        ...extra,
      },
    });
  }

  /** The span of the request ends with the first commit. The log does not have the time of the response. */
  #request(): readonly Span[] {
    const { traceId, request } = this.#position;
    if (request === undefined) return [];
    const { address, workflow, createdAt, commit } = this.#head;
    const attributes = {
      'stepwell.run.id': address.runId,
      'stepwell.project.id': address.projectId,
      'stepwell.environment': address.environment,
      'stepwell.workflow.name': workflow.name,
      'stepwell.function': commit.by,
      'stepwell.status': 'completed',
    };
    const name = `${rerunOf(this.#head) === undefined ? 'start' : 'rerun'} ${workflow.name}`;
    const endedAt = instant(Math.max(createdAt, commit.at));
    return [{ traceId, ...request, name, startedAt: createdAt, endedAt, status: 'ok', attributes }];
  }

  #run({ status, endedAt, error = {} }: RunEnd, extra: Attributes): Span {
    const { address, workflow, createdAt, deploymentId } = this.#head;
    const version = 'version' in workflow ? workflow.version : undefined;
    const { traceId, parentSpanId } = this.#position;
    return defined({
      traceId,
      parentSpanId,
      spanId: runSpanId(address.runId),
      name: `run ${workflow.name}`,
      startedAt: createdAt,
      endedAt: instant(Math.max(createdAt, endedAt)),
      status: status === 'cancelled' ? undefined : status === 'completed' ? 'ok' : 'error',
      attributes: {
        'stepwell.run.id': address.runId,
        'stepwell.project.id': address.projectId,
        'stepwell.environment': address.environment,
        'stepwell.workflow.name': workflow.name,
        ...(version === undefined ? {} : { 'stepwell.workflow.version': String(version) }),
        ...(deploymentId === null ? {} : { 'stepwell.deployment.id': deploymentId }),
        'stepwell.status': status,
        ...error,
        ...extra,
      },
    });
  }
}

const stepOf = (of: { readonly step?: StepInfo } | undefined): { readonly step?: StepInfo } =>
  of?.step === undefined ? {} : { step: of.step };

/** The cause and the code are fixed terms. The message is omitted, because it may contain user data. */
const errorOf = ({ cause, code }: { readonly cause: string; readonly code?: string }): Attributes => ({
  'error.type': code ?? cause,
  'stepwell.failure.cause': cause,
});
