/**
 * The waterfall of a run, from its events: for each node in each iteration, how long it was in the queue, worked, waited for its next
 * attempt, slept, or waited for a signal or a child run.
 */
import { defined } from '../../base/defined.ts';
import type { RunEvent } from '../api.ts';

export type SpanKind = 'queued' | 'working' | 'backoff' | 'sleeping' | 'waiting';

export interface Span {
  readonly kind: SpanKind;
  readonly attempt: number;
  /** in ms since the epoch */
  readonly from: number;
  /** undefined: it goes on */
  readonly to: number | undefined;
  /** of work that ended */
  readonly outcome?: 'completed' | 'failed';
}

export interface TimelineRow {
  readonly nodeId: string;
  readonly iteration?: string;
  readonly spans: readonly Span[];
  /** undefined: the node is open */
  readonly status?: string;
}

interface Row {
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly spans: Span[];
  open: { readonly kind: SpanKind; readonly attempt: number; readonly from: number } | undefined;
  status: string | undefined;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const timeOf = (value: unknown): number | undefined => {
  const ms = Date.parse(text(value) ?? '');
  return Number.isNaN(ms) ? undefined : ms;
};

const endNames: Readonly<Record<string, string>> = {
  'node.completed': 'completed',
  'node.failed': 'failed',
  'node.timed_out': 'timed_out',
  'node.blocked': 'blocked',
  'node.invalidated': 'invalidated',
  'node.cancelled': 'cancelled',
};

const waits: Readonly<Record<string, SpanKind>> = {
  'node.waiting': 'sleeping',
  'signal.awaited': 'waiting',
  'subflow.called': 'waiting',
  'loop.started': 'waiting',
};

/** Rows are mutable inside: a run of 20,000 events is folded in one pass. */
export class Timeline {
  readonly #rows = new Map<string, Row>();

  add({ type, timestamp, payload }: Pick<RunEvent, 'type' | 'timestamp' | 'payload'>): void {
    const nodeId = text(payload['nodeId']);
    if (nodeId === undefined || nodeId.startsWith('.')) return;
    const row = this.#row(nodeId, text(payload['iteration']));
    const at = Date.parse(timestamp);
    const attempt = typeof payload['attempt'] === 'number' ? payload['attempt'] : 1;
    const startedAt = timeOf(payload['startedAt']);
    const endedAt = timeOf(payload['endedAt']) ?? at;
    const wait = waits[type];
    const end = endNames[type];
    if (type === 'node.queued') this.#open(row, 'queued', attempt, at);
    else if (type === 'node.started') this.#open(row, 'working', attempt, startedAt ?? at);
    else if (wait !== undefined) this.#open(row, wait, attempt, at);
    else if (type === 'node.retried') {
      this.#close(row, attempt, startedAt, endedAt, 'failed');
      row.open = { kind: 'backoff', attempt: attempt + 1, from: endedAt };
    } else if (end !== undefined) {
      this.#close(row, attempt, startedAt, endedAt, end === 'completed' ? 'completed' : 'failed');
      row.status = end;
    } else if (type === 'node.skipped') row.status = 'skipped';
  }

  rows(): readonly TimelineRow[] {
    return [...this.#rows.values()].map(({ nodeId, iteration, spans, open, status }) => ({
      nodeId,
      spans: open === undefined ? spans : [...spans, { ...open, to: undefined }],
      ...defined({ iteration, status }),
    }));
  }

  #row(nodeId: string, iteration: string | undefined): Row {
    const key = JSON.stringify([nodeId, iteration]);
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row: Row = { nodeId, iteration, spans: [], open: undefined, status: undefined };
    this.#rows.set(key, row);
    return row;
  }

  #open(row: Row, kind: SpanKind, attempt: number, from: number): void {
    if (row.open !== undefined && row.open.from < from) row.spans.push({ ...row.open, to: from });
    row.open = { kind, attempt, from };
    row.status = undefined;
  }

  /** @param startedAt of the attempt, where its outcome says more than the events before it */
  #close(row: Row, attempt: number, startedAt: number | undefined, endedAt: number, outcome: 'completed' | 'failed'): void {
    const { open } = row;
    row.open = undefined;
    const isWait = open !== undefined && (open.kind === 'sleeping' || open.kind === 'waiting');
    if (isWait) {
      row.spans.push({ ...open, to: endedAt, outcome });
      return;
    }
    const from = startedAt ?? open?.from ?? endedAt;
    if (open !== undefined && open.kind !== 'working' && open.from < from) row.spans.push({ ...open, to: from });
    row.spans.push({ kind: 'working', attempt, from, to: endedAt, outcome });
  }
}
