/**
 * The waterfall of a run, from its attempts: for each node in each iteration, how long it was in the queue, worked, waited for its next
 * attempt, slept, or waited for a signal or a child run.
 */
import { defined } from '../../base/defined.ts';
import type { AttemptRow } from '../../engine/log/timeline.ts';

/** With the words of a newer service too. */
export type ShownAttempt = AttemptRow<string>;

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

export interface WaterfallRow {
  readonly nodeId: string;
  readonly iteration?: string;
  readonly spans: readonly Span[];
  /** undefined: the node is open */
  readonly status?: string;
}

interface MutableRow {
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly spans: Span[];
  status: string | undefined;
}

/** In the order of the first attempts. Skipped nodes took no time and have no row; iterations are shown by their nodes. */
export function waterfallRows(attempts: readonly ShownAttempt[]): readonly WaterfallRow[] {
  const rows = new Map<string, MutableRow>();
  for (const attempt of attempts) {
    if (attempt.attempt === 0) continue;
    const key = JSON.stringify([attempt.nodeId, attempt.iteration]);
    const row = rows.get(key) ?? { nodeId: attempt.nodeId, iteration: attempt.iteration, spans: [], status: undefined };
    rows.set(key, row);
    row.spans.push(...spansOf(attempt));
    row.status = attempt.ended === undefined ? undefined : attempt.status;
  }
  return [...rows.values()].map(({ nodeId, iteration, spans, status }) => ({
    nodeId,
    spans,
    ...defined({ iteration, status }),
  }));
}

function spansOf({ attempt, queued, started, ended, status, wait }: ShownAttempt): readonly Span[] {
  const outcome = ended === undefined ? {} : { outcome: status === 'completed' ? ('completed' as const) : ('failed' as const) };
  const kind: SpanKind = wait === undefined ? 'working' : wait === 'time' ? 'sleeping' : 'waiting';
  const before: SpanKind = attempt > 1 ? 'backoff' : 'queued';
  const until = started ?? ended;
  return [
    ...(queued === undefined || (until !== undefined && until <= queued)
      ? []
      : [{ kind: before, attempt, from: queued, to: until }]),
    ...(started === undefined && ended === undefined
      ? []
      : [{ kind, attempt, from: started ?? ended ?? 0, to: ended, ...outcome }]),
  ];
}
