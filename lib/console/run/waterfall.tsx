/** The waterfall: a row for each node, with queueing, work, backoff, sleeping and waiting apart. Only rows in view are in the page. */
import { type ReactNode, memo, useMemo, useState } from 'react';
import type { Run } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Status } from '../primitives/status.tsx';
import { useNow } from '../primitives/time.tsx';
import type { RunTimeline } from './use-timeline.ts';
import { type Span, type SpanKind, type WaterfallRow as Row, waterfallRows } from './waterfall-rows.ts';
import { useWindow } from '../primitives/use-window.ts';

const rowHeight = 34;
const words: Readonly<Record<SpanKind, string>> = {
  queued: 'in the queue',
  working: 'at work',
  backoff: 'until the next attempt',
  sleeping: 'asleep',
  waiting: 'waiting',
};

interface WaterfallProps {
  readonly run: Run;
  readonly timeline: RunTimeline;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

export function Waterfall({ run, timeline, onSelect }: WaterfallProps): ReactNode {
  const clock = useNow();
  // The rows of an ended run do not change any more.
  const now = run.completedAt === undefined ? clock : Date.parse(run.completedAt);
  const labels = useMemo(() => new Map(run.nodes.map(({ nodeId, label }) => [nodeId, label ?? nodeId])), [run.nodes]);
  const rows = useMemo(() => waterfallRows(timeline.rows).filter(({ spans }) => spans.length > 0), [timeline.rows]);
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const shown = useWindow(scroller, rows.length, rowHeight);
  const from = useMemo(
    () => Math.min(Date.parse(run.createdAt), ...rows.slice(0, 1_000).map(({ spans: [first] }) => first?.from ?? Infinity)),
    [run.createdAt, rows],
  );
  const to = Math.max(now, from + 1);
  const scale = useMemo(() => ({ from, to, now }), [from, to, now]);
  if (timeline.error !== undefined) return <ErrorText error={timeline.error} onRetry={timeline.retry} />;
  if (rows.length === 0 && timeline.isLoading) return <Loading />;
  if (rows.length === 0) return <p className="dim">No node has begun.</p>;
  return (
    <>
      <p className="legend" aria-hidden="true">
        {(Object.keys(words) as SpanKind[]).map((kind) => (
          <span key={kind}>
            <i className={`span ${kind}`} /> {words[kind]}
          </span>
        ))}
      </p>
      <p className="axis" aria-hidden="true">
        <span />
        <span>
          <span>0</span>
          <span>{durationText((to - from) / 2)}</span>
          <span>{durationText(to - from)}</span>
        </span>
      </p>
      <div className="scroller" ref={setScroller} tabIndex={0} role="region" aria-label="Waterfall">
        <table className="waterfall" aria-rowcount={rows.length} style={{ height: rows.length * rowHeight }}>
          <tbody style={{ transform: `translateY(${shown.from * rowHeight}px)` }}>
            {rows.slice(shown.from, shown.to).map((row, index) => (
              <WaterfallRow
                key={`${row.nodeId}@${row.iteration ?? ''}`}
                index={shown.from + index}
                row={row}
                label={labels.get(row.nodeId) ?? row.nodeId}
                scale={scale}
                onSelect={onSelect}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface Scale {
  readonly from: number;
  readonly to: number;
  readonly now: number;
}

interface WaterfallRowProps {
  readonly row: Row;
  readonly label: string;
  readonly index: number;
  readonly scale: Scale;
  readonly onSelect: WaterfallProps['onSelect'];
}

const WaterfallRow = memo(function WaterfallRow({
  row: { nodeId, iteration, spans, status },
  label,
  index,
  scale,
  onSelect,
}: WaterfallRowProps): ReactNode {
  const attempts = Math.max(...spans.map(({ attempt }) => attempt));
  const first = spans[0]?.from ?? scale.from;
  const last = spans.at(-1)?.to ?? scale.now;
  return (
    <tr aria-rowindex={index + 1}>
      <th scope="row">
        <button type="button" onClick={() => onSelect(nodeId, iteration)} title={iteration ?? nodeId}>
          <bdi>{label}</bdi>
          {iteration === undefined ? null : <span className="dim"> {iteration.replace(/^.*(?=\[)/, '')}</span>}
        </button>
      </th>
      <td className="bars">
        {spans.map((span) => (
          <Bar key={`${span.kind}${span.from}`} span={span} scale={scale} />
        ))}
      </td>
      <td className="took">
        <Status status={status ?? openStatus(spans)} /> {durationText(last - first)}
        {attempts > 1 ? `, ${attempts} attempts` : ''}
      </td>
    </tr>
  );
});

const openStatus = (spans: readonly Span[]): string => {
  const kind = spans.at(-1)?.kind;
  if (kind === 'backoff') return 'retrying';
  return kind === 'working' ? 'running' : kind === 'queued' ? 'queued' : 'waiting';
};

const Bar = ({
  span: { kind, attempt, from, to, outcome },
  scale,
}: {
  readonly span: Span;
  readonly scale: Scale;
}): ReactNode => {
  const length = scale.to - scale.from;
  const until = to ?? scale.now;
  const left = ((from - scale.from) / length) * 100;
  const width = Math.max(0.2, ((until - from) / length) * 100);
  const title = `attempt ${attempt}, ${words[kind]} ${durationText(until - from)}${outcome === 'failed' ? ', failed' : ''}`;
  return (
    <span
      className={`span ${kind} ${outcome ?? ''} ${to === undefined ? 'open' : ''}`}
      style={{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }}
      title={title}
    >
      <span className="hidden">{title}; </span>
    </span>
  );
};
