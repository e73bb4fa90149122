/**
 * Tags: what is worth a glance in a run, read from its log and from nothing else. The table of them is docs/API.md's.
 * A tag belongs to the event that it follows from, so that reading on from an event id misses none.
 */
import { isDriveNode } from '../durable/step.ts';
import {
  type Attempt,
  type EventId,
  type IterationKey,
  type NodeId,
  type NodeKey,
  type NodeRef,
  eventId,
  firstAttempt,
  nodeKey,
  passKey,
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
  /** absent: it is about the run */
  readonly nodeId?: NodeId;
  readonly iteration?: IterationKey;
  readonly eventId: EventId;
  readonly at: Instant;
  readonly metadata: JsonObject;
}

type NodeEvent = Extract<RunEvent, { readonly nodeId: NodeId }>;
type Said = Pick<Tag, 'tag' | 'severity' | 'metadata'> & Partial<Pick<Tag, 'nodeId' | 'iteration'>>;

interface Seen {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  /** absent: it needed no worker so far, and no event says */
  readonly wave?: number;
  readonly attempt: Attempt;
  /** a short attempt is told of by its end alone */
  readonly isStarted: boolean;
  readonly isOpen: boolean;
  readonly hasFailed: boolean;
}

/** Reads a log commit by commit. It has to see all of them, in order. */
export class TagReader {
  readonly #nodes = new Map<NodeKey, Seen>();
  /** as many as are at work in loops at a time, however many have ended */
  readonly #openInPasses = new Map<NodeKey, Seen>();

  read(commit: Commit): readonly Tag[] {
    return commit.events.flatMap((event, index) =>
      this.#tagsOf(event).map((said) => ({ ...said, eventId: eventId(commit.firstEventId + index), at: commit.at })),
    );
  }

  #tagsOf(event: RunEvent): readonly Said[] {
    if ('nodeId' in event) {
      const said = this.#ofNode(event);
      // That code is driven is nobody's concern; that it cannot be is somebody's.
      return isDriveNode(event.nodeId) ? said.filter(({ severity }) => severity !== 'info') : said;
    }
    switch (event.type) {
      case 'RUN_RECOVERED':
        return [{ tag: 'recovered', severity: 'warn', metadata: { nodes: event.nodes } }];
      case 'RUN_COMPLETED': {
        const failed = [...this.#nodes.values()].filter(({ hasFailed }) => hasFailed).map(({ nodeId }) => nodeId);
        const metadata = { failed: failed.slice(0, mostNamed), failures: failed.length };
        return failed.length === 0 ? [] : [{ tag: 'partial_success', severity: 'warn', metadata }];
      }
      case 'RUN_CANCELLED':
      case 'RUN_FAILED':
      case 'RUN_TIMED_OUT':
        // What was open is cancelled by the end of the run, and no event of its own says so.
        return [...this.#nodes.values()].filter(({ isOpen, nodeId }) => isOpen && !isDriveNode(nodeId)).map(cancelled);
      default:
        return [];
    }
  }

  #ofNode(event: NodeEvent): readonly Said[] {
    const { nodeId, iteration } = event;
    const of = { nodeId, iteration };
    switch (event.type) {
      case 'NODE_DISPATCHED':
        this.#note(event, { wave: event.wave, attempt: event.attempt, isStarted: false });
        return [];
      case 'NODE_STARTED':
        return this.#started(event);
      case 'SLEEP_STARTED':
      case 'SIGNAL_AWAITED':
      case 'SUBFLOW_CALLED':
      case 'LOOP_STARTED':
        return this.#started(event);
      case 'NODE_RETRIED': {
        const { cause } = event.failure;
        const metadata = { attempt: event.attempt, cause, delayMs: event.delayMs, ...tokensOf(event) };
        const started = this.#started(event);
        this.#note(event, { isStarted: false });
        return [...started, ...ofCause(of, event.failure), { ...of, tag: 'node_retried', severity: 'warn', metadata }];
      }
      case 'NODE_COMPLETED': {
        const started = this.#started(event);
        this.#note(event, { isOpen: false });
        const durationMs = between(event.startedAt, event.endedAt);
        return [...started, { ...of, tag: 'node_completed', severity: 'info', metadata: { durationMs, ...tokensOf(event) } }];
      }
      case 'NODE_FAILED': {
        const started = this.#started(event);
        this.#note(event, { isOpen: false, hasFailed: true });
        const { cause, code = cause, message } = event.failure;
        const severity = event.handle === 'error' ? 'warn' : 'critical';
        const metadata = { errorCode: code, errorMessage: message, attempts: event.attempt, ...tokensOf(event) };
        return [...started, ...ofCause(of, event.failure), { ...of, tag: 'node_failed', severity, metadata }, ...this.#drop(of)];
      }
      // What became of the attempt follows in the same commit.
      case 'MODERATION_FLAGGED': {
        const { phase, decision } = event;
        return [...this.#started(event), { ...of, tag: 'moderation_flagged', severity: 'warn', metadata: { phase, decision } }];
      }
      case 'NODE_SKIPPED':
        this.#note(event, { isOpen: false });
        return [];
      default:
        return [];
    }
  }

  #started(event: NodeEvent & { readonly attempt: Attempt }): readonly Said[] {
    const { nodeId, iteration, attempt } = event;
    const seen = this.#nodes.get(nodeKey(event));
    if (seen?.isStarted === true && seen.attempt === attempt) return [];
    this.#note(event, { attempt, isStarted: true });
    const wave = seen?.wave === undefined ? {} : { wave: seen.wave };
    return [{ tag: 'node_started', severity: 'info', nodeId, iteration, metadata: { attempt, ...wave } }];
  }

  /** A loop that fails leaves its other passes as they are, and nobody waits for what is open in them. No event of its own says so. */
  #drop(loop: NodeRef): readonly Said[] {
    const inside = passKey(loop, 0).slice(0, -'0]'.length);
    const dropped = [...this.#openInPasses].filter(([, { iteration }]) => iteration.startsWith(inside));
    for (const [key, seen] of dropped) this.#keep(key, { ...seen, isOpen: false });
    return dropped.map(([, seen]) => cancelled(seen));
  }

  #note(event: NodeEvent, facts: Partial<Omit<Seen, 'nodeId' | 'iteration'>>): void {
    const { nodeId, iteration } = event;
    const fresh = {
      attempt: 'attempt' in event ? event.attempt : firstAttempt,
      isStarted: false,
      isOpen: true,
      hasFailed: false,
    };
    const key = nodeKey(event);
    this.#keep(key, { ...fresh, ...this.#nodes.get(key), ...facts, nodeId, iteration });
  }

  #keep(key: NodeKey, seen: Seen): void {
    this.#nodes.set(key, seen);
    if (seen.iteration === topLevel) return;
    if (seen.isOpen) this.#openInPasses.set(key, seen);
    else this.#openInPasses.delete(key);
  }
}

const cancelled = ({ nodeId, iteration }: NodeRef): Said => ({
  tag: 'node_cancelled',
  severity: 'info',
  nodeId,
  iteration,
  metadata: {},
});

/** Failed nodes that a tag names; it counts them all. */
const mostNamed = 20;

/** Where the provider reports them. */
const tokensOf = ({ tokens }: { readonly tokens?: TokenCount }): JsonObject =>
  tokens === undefined ? {} : { inputTokens: tokens.input, outputTokens: tokens.output };

/** Causes that have a tag of their own, beside what became of the attempt. */
function ofCause(of: Pick<NodeEvent, 'nodeId' | 'iteration'>, { cause, details }: Failure): readonly Said[] {
  if (cause === 'timeout') return [{ ...of, tag: 'timed_out', severity: 'warn', metadata: details ?? {} }];
  if (cause === 'contract_violated') return [{ ...of, tag: 'contract_violated', severity: 'warn', metadata: details ?? {} }];
  return [];
}
