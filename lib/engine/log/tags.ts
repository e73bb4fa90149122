/**
 * Tags: notable facts of a run, derived from its log alone. docs/API.md has the table.
 * A tag has the id of its event, so a reader that resumes from an event id misses none.
 */
import { type DevKitEvent, isTerminalRunEvent } from '../devkit/events.ts';
import { isWorkflowTaskNode } from '../durable/step.ts';
import {
  type Attempt,
  type EventId,
  type IterationKey,
  type NodeId,
  type NodeKey,
  type NodeRef,
  attempt,
  eventId,
  firstAttempt,
  nodeId,
  nodeIdPattern,
  nodeKey,
  iterationKeyOf,
  topLevel,
} from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { type Instant, between } from '../time.ts';
import type { Commit } from './commit.ts';
import type { Failure, RunEvent, TokenCount } from './events.ts';

export const tagNames = [
  'node_started',
  'node_retried',
  'node_completed',
  'node_failed',
  'node_cancelled',
  'timed_out',
  'contract_violated',
  'moderation_flagged',
  'recovered',
  'partial_success',
] as const;
type TagName = (typeof tagNames)[number];

export const tagSeverities = ['info', 'warn', 'critical'] as const;
type TagSeverity = (typeof tagSeverities)[number];

export interface Tag {
  readonly tag: TagName;
  readonly severity: TagSeverity;
  /** absent: the tag is about the run */
  readonly nodeId?: NodeId;
  readonly iteration?: IterationKey;
  readonly eventId: EventId;
  readonly at: Instant;
  readonly metadata: JsonObject;
}

type NodeEvent = Extract<RunEvent, { readonly nodeId: NodeId }>;
type TagDraft = Pick<Tag, 'tag' | 'severity' | 'metadata'> & Partial<Pick<Tag, 'nodeId' | 'iteration'>>;

interface ObservedNode {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  /** absent: no worker was needed so far, so no event has a wave */
  readonly wave?: number;
  readonly attempt: Attempt;
  /** only longer attempts have a start event of their own */
  readonly isStarted: boolean;
  readonly isOpen: boolean;
  readonly hasFailed: boolean;
}

/** Reads a log commit by commit. It needs every commit, in order. */
export class TagReader {
  readonly #nodes = new Map<NodeKey, ObservedNode>();
  /** bounded by the loops' concurrency, not by their items */
  readonly #openInIterations = new Map<NodeKey, ObservedNode>();

  read(commit: Commit): readonly Tag[] {
    return commit.events.flatMap((event, index) =>
      this.#tagsOf(event).map((draft) => ({ ...draft, eventId: eventId(commit.firstEventId + index), at: commit.at })),
    );
  }

  #tagsOf(event: RunEvent): readonly TagDraft[] {
    if ('nodeId' in event) {
      const draft = this.#tagsOfNode(event);
      // Workflow tasks are internal; only their problems are shown.
      return isWorkflowTaskNode(event.nodeId) ? draft.filter(({ severity }) => severity !== 'info') : draft;
    }
    if (event.type === 'DEVKIT') return this.#tagsOfDevKit(event);
    switch (event.type) {
      case 'RUN_RECOVERED':
        return [{ tag: 'recovered', severity: 'warn', metadata: { nodes: event.nodes } }];
      case 'RUN_COMPLETED': {
        const failed = [...this.#nodes.values()].filter(({ hasFailed }) => hasFailed).map(({ nodeId }) => nodeId);
        const metadata = { failed: failed.slice(0, maxNamedNodes), failures: failed.length };
        return failed.length === 0 ? [] : [{ tag: 'partial_success', severity: 'warn', metadata }];
      }
      case 'RUN_CANCELLED':
      case 'RUN_FAILED':
      case 'RUN_TIMED_OUT':
        // The end of the run cancels open nodes without an event for each.
        return [...this.#nodes.values()].filter(({ isOpen, nodeId }) => isOpen && !isWorkflowTaskNode(nodeId)).map(cancelledTag);
      default:
        return [];
    }
  }

  #tagsOfDevKit({ event, correlationId }: DevKitEvent): readonly TagDraft[] {
    if (isTerminalRunEvent(event)) return [...this.#nodes.values()].filter(({ isOpen }) => isOpen).map(cancelledTag);
    if (correlationId === undefined || !nodeIdPattern.test(correlationId)) return [];
    const ref = { nodeId: nodeId(correlationId), iteration: topLevel };
    const known = this.#nodes.get(nodeKey(ref));
    const started = known?.isStarted === true ? known.attempt : 0;
    const observe = (facts: Partial<ObservedNode>): void =>
      this.#store(nodeKey(ref), {
        attempt: firstAttempt,
        isStarted: false,
        isOpen: true,
        hasFailed: false,
        ...known,
        ...facts,
        ...ref,
      });
    switch (event) {
      case 'step_created':
      case 'hook_created':
      case 'wait_created':
        observe({});
        return [];
      case 'step_started':
        observe({ isStarted: true, attempt: attempt(started + 1) });
        return [{ ...ref, tag: 'node_started', severity: 'info', metadata: { attempt: started + 1 } }];
      case 'step_retrying':
        return [{ ...ref, tag: 'node_retried', severity: 'warn', metadata: { attempt: Math.max(1, started) } }];
      case 'step_failed':
        observe({ isOpen: false, hasFailed: true });
        return [{ ...ref, tag: 'node_failed', severity: 'warn', metadata: { attempts: Math.max(1, started) } }];
      case 'step_completed':
      case 'wait_completed':
      case 'hook_disposed':
        observe({ isOpen: false });
        return [{ ...ref, tag: 'node_completed', severity: 'info', metadata: {} }];
      default:
        return [];
    }
  }

  #tagsOfNode(event: NodeEvent): readonly TagDraft[] {
    const { nodeId, iteration } = event;
    const nodeRef = { nodeId, iteration };
    switch (event.type) {
      case 'NODE_DISPATCHED':
        this.#observe(event, { wave: event.wave, attempt: event.attempt, isStarted: false });
        return [];
      case 'NODE_STARTED':
      case 'SLEEP_STARTED':
      case 'SIGNAL_AWAITED':
      case 'SUBFLOW_CALLED':
      case 'LOOP_STARTED':
        return this.#started(event);
      case 'NODE_RETRIED': {
        const { cause } = event.failure;
        const metadata = { attempt: event.attempt, cause, delayMs: event.delayMs, ...tokensOf(event) };
        const started = this.#started(event);
        this.#observe(event, { isStarted: false });
        return [
          ...started,
          ...causeTags(nodeRef, event.failure),
          { ...nodeRef, tag: 'node_retried', severity: 'warn', metadata },
        ];
      }
      case 'NODE_COMPLETED': {
        const started = this.#started(event);
        this.#observe(event, { isOpen: false });
        const durationMs = between(event.startedAt, event.endedAt);
        return [
          ...started,
          { ...nodeRef, tag: 'node_completed', severity: 'info', metadata: { durationMs, ...tokensOf(event) } },
        ];
      }
      case 'NODE_FAILED': {
        const started = this.#started(event);
        this.#observe(event, { isOpen: false, hasFailed: true });
        const { cause, code = cause, message } = event.failure;
        const severity = event.handle === 'error' ? 'warn' : 'critical';
        const metadata = { errorCode: code, errorMessage: message, attempts: event.attempt, ...tokensOf(event) };
        return [
          ...started,
          ...causeTags(nodeRef, event.failure),
          { ...nodeRef, tag: 'node_failed', severity, metadata },
          ...this.#cancelIn(nodeRef),
        ];
      }
      // The outcome of the attempt follows in the same commit.
      case 'MODERATION_FLAGGED': {
        const { phase, decision } = event;
        return [
          ...this.#started(event),
          { ...nodeRef, tag: 'moderation_flagged', severity: 'warn', metadata: { phase, decision } },
        ];
      }
      case 'NODE_SKIPPED':
        this.#observe(event, { isOpen: false });
        return [];
      default:
        return [];
    }
  }

  #started(event: NodeEvent & { readonly attempt: Attempt }): readonly TagDraft[] {
    const { nodeId, iteration, attempt } = event;
    const observed = this.#nodes.get(nodeKey(event));
    if (observed?.isStarted === true && observed.attempt === attempt) return [];
    this.#observe(event, { attempt, isStarted: true });
    const wave = observed?.wave === undefined ? {} : { wave: observed.wave };
    return [{ tag: 'node_started', severity: 'info', nodeId, iteration, metadata: { attempt, ...wave } }];
  }

  /** A loop that fails cancels its open iterations without an event for each node in them. */
  #cancelIn(loop: NodeRef): readonly TagDraft[] {
    const iterationPrefix = iterationKeyOf(loop, 0).slice(0, -'0]'.length);
    const cancelledNodes = [...this.#openInIterations].filter(([, { iteration }]) => iteration.startsWith(iterationPrefix));
    for (const [key, observed] of cancelledNodes) this.#store(key, { ...observed, isOpen: false });
    return cancelledNodes.map(([, observed]) => cancelledTag(observed));
  }

  #observe(event: NodeEvent, facts: Partial<Omit<ObservedNode, 'nodeId' | 'iteration'>>): void {
    const { nodeId, iteration } = event;
    const initial = {
      attempt: 'attempt' in event ? event.attempt : firstAttempt,
      isStarted: false,
      isOpen: true,
      hasFailed: false,
    };
    const key = nodeKey(event);
    this.#store(key, { ...initial, ...this.#nodes.get(key), ...facts, nodeId, iteration });
  }

  #store(key: NodeKey, observed: ObservedNode): void {
    this.#nodes.set(key, observed);
    if (observed.iteration === topLevel) return;
    if (observed.isOpen) this.#openInIterations.set(key, observed);
    else this.#openInIterations.delete(key);
  }
}

const cancelledTag = ({ nodeId, iteration }: NodeRef): TagDraft => ({
  tag: 'node_cancelled',
  severity: 'info',
  nodeId,
  iteration,
  metadata: {},
});

/** Failed nodes that a tag names; it counts all of them. */
const maxNamedNodes = 20;

/** Empty if the provider reports none. */
const tokensOf = ({ tokens }: { readonly tokens?: TokenCount }): JsonObject =>
  tokens === undefined ? {} : { inputTokens: tokens.input, outputTokens: tokens.output };

/** Tags for specific causes, beside the tag for the attempt's outcome. */
function causeTags(nodeRef: Pick<NodeEvent, 'nodeId' | 'iteration'>, { cause, details }: Failure): readonly TagDraft[] {
  // What the attempt saw is in its event.
  const { input: _input, request: _request, ...metadata } = details ?? {};
  if (cause === 'timeout') return [{ ...nodeRef, tag: 'timed_out', severity: 'warn', metadata }];
  if (cause === 'contract_violated') return [{ ...nodeRef, tag: 'contract_violated', severity: 'warn', metadata }];
  return [];
}
