/** The iterations of the loops of a run as a grid, failures first. Only the rows in view are in the page; the arrow keys move in it. */
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Shape, toneOf, wordOf } from '../primitives/status.tsx';
import { useWindow } from '../primitives/use-window.ts';
import { type Iteration, iterationsOf, nodesIn } from './iterations.ts';
import type { RunTimeline } from './use-timeline.ts';

interface IterationGridProps {
  readonly timeline: RunTimeline;
  readonly hasEnded: boolean;
  readonly selected: string | undefined;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

const cell = { width: 150, height: 36 } as const;

export function IterationGrid({ timeline, hasEnded, selected, onSelect }: IterationGridProps): ReactNode {
  const all = useMemo(() => iterationsOf(timeline.rows, hasEnded), [timeline.rows, hasEnded]);
  const [loop, setLoop] = useState('');
  const [status, setStatus] = useState('');
  const loops = [...new Set(all.map((each) => each.loop))];
  const ofLoop = loop === '' ? all : all.filter((each) => each.loop === loop);
  const counts = [...Map.groupBy(ofLoop, (each) => each.status)].map(([name, each]) => [name, each.length] as const);
  const shown = status === '' ? ofLoop : ofLoop.filter((each) => each.status === status);
  if (timeline.error !== undefined) return <ErrorText error={timeline.error} onRetry={timeline.retry} />;
  if (all.length === 0) return timeline.isLoading ? <Loading /> : <p className="dim">No iteration has begun.</p>;
  return (
    <>
      <div className="filters">
        {loops.length === 1 ? null : (
          <label>
            Loop{' '}
            <select value={loop} onChange={(event) => setLoop(event.currentTarget.value)}>
              <option value="">all</option>
              {loops.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        )}
        <span className="actions" role="group" aria-label="Status of iterations">
          <button type="button" aria-pressed={status === ''} onClick={() => setStatus('')}>
            all <span className="count">{ofLoop.length}</span>
          </button>
          {counts.map(([name, count]) => (
            <button
              key={name}
              type="button"
              aria-pressed={status === name}
              onClick={() => setStatus(status === name ? '' : name)}
            >
              <Shape status={name} /> {wordOf(name)} <span className="count">{count}</span>
            </button>
          ))}
        </span>
        {timeline.isLoading ? <span role="status">Reading more iterations…</span> : null}
      </div>
      <Cells iterations={shown} selected={selected} onSelect={onSelect} />
      {selected === undefined ? null : <NodesOfIteration iteration={selected} timeline={timeline} onSelect={onSelect} />}
    </>
  );
}

interface NodesOfIterationProps {
  readonly iteration: string;
  readonly timeline: RunTimeline;
  readonly onSelect: IterationGridProps['onSelect'];
}

const NodesOfIteration = ({ iteration, timeline, onSelect }: NodesOfIterationProps): ReactNode => (
  <section aria-label={`Nodes of ${iteration}`} className="iteration-nodes">
    <h2>Nodes of {iteration}</h2>
    <span className="actions">
      {nodesIn(timeline.rows, iteration).map(({ nodeId, status }) => (
        <button key={nodeId} type="button" onClick={() => onSelect(nodeId, iteration)}>
          <Shape status={status} /> <bdi>{nodeId}</bdi> <span className="dim">{wordOf(status)}</span>
        </button>
      ))}
    </span>
  </section>
);

interface CellsProps {
  readonly iterations: readonly Iteration[];
  readonly selected: string | undefined;
  readonly onSelect: IterationGridProps['onSelect'];
}

function Cells({ iterations, selected, onSelect }: CellsProps): ReactNode {
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const columns = useColumns(scroller);
  const rows = Math.ceil(iterations.length / columns);
  const view = useWindow(scroller, rows, cell.height);
  const { at, setCurrent, move } = useRovingFocus(scroller, iterations.length, columns, view);
  const rowsInView = Array.from({ length: view.to - view.from }, (_, row) => view.from + row);
  return (
    <div className="scroller iterations" ref={setScroller} tabIndex={-1}>
      <div
        role="grid"
        aria-label="Iterations"
        aria-rowcount={rows}
        aria-colcount={columns}
        style={{ height: rows * cell.height }}
        onKeyDown={move}
      >
        <div role="presentation" style={{ transform: `translateY(${view.from * cell.height}px)` }}>
          {rowsInView.map((row) => (
            <div key={row} role="row" aria-rowindex={row + 1} className="iteration-row">
              {iterations.slice(row * columns, (row + 1) * columns).map((iteration, column) => (
                <Cell
                  key={iteration.key}
                  iteration={iteration}
                  index={row * columns + column}
                  isCurrent={row * columns + column === at}
                  isSelected={iteration.key === selected}
                  onSelect={(index) => {
                    setCurrent(index);
                    onSelect(iteration.nodeId ?? iteration.loop, iteration.key);
                  }}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

interface CellProps {
  readonly iteration: Iteration;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly onSelect: (index: number) => void;
}

const Cell = ({ iteration: { key, status }, index, isCurrent, isSelected, onSelect }: CellProps): ReactNode => (
  <div role="gridcell" aria-selected={isSelected}>
    <button
      type="button"
      data-at={index}
      tabIndex={isCurrent ? 0 : -1}
      className={toneOf(status)}
      title={`${key} ${wordOf(status)}`}
      onClick={() => onSelect(index)}
    >
      <Shape status={status} /> <span className="iteration-key">{key.replace(/^.*(?=\[)/, '')}</span>{' '}
      <span className="iteration-word">{wordOf(status)}</span>
    </button>
  </div>
);

/** One cell can be reached by the tab key; the arrow keys, Home and End move from it, also to cells that are not in view. */
function useRovingFocus(
  scroller: HTMLElement | null,
  count: number,
  columns: number,
  view: { readonly from: number; readonly to: number },
) {
  const [current, setCurrent] = useState(0);
  const focusing = useRef(false);
  const at = Math.min(current, count - 1);
  useEffect(() => {
    if (!focusing.current || scroller === null) return;
    const top = Math.floor(at / columns) * cell.height;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + cell.height > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top + cell.height - scroller.clientHeight;
    const button = scroller.querySelector<HTMLElement>(`[data-at="${at}"]`);
    if (button === null) return;
    button.focus({ preventScroll: true });
    focusing.current = false;
  }, [scroller, at, columns, view.from, view.to]);
  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns,
      ArrowUp: -columns,
      Home: -at,
      End: count - 1 - at,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    focusing.current = true;
    setCurrent(Math.max(0, Math.min(count - 1, at + step)));
  };
  return { at, setCurrent, move };
}

/** How many cells fit a row. */
function useColumns(scroller: HTMLElement | null): number {
  const [columns, setColumns] = useState(1);
  useEffect(() => {
    if (scroller === null) return undefined;
    const measure = (): void => setColumns(Math.max(1, Math.floor(scroller.clientWidth / cell.width)));
    measure();
    const resizes = new ResizeObserver(measure);
    resizes.observe(scroller);
    return () => resizes.disconnect();
  }, [scroller]);
  return columns;
}
