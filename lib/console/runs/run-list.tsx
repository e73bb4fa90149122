/** The list of runs: newest first, live, with filters, and with work on several runs at once. */
import { type ReactNode, useState } from 'react';
import type { RunSummary } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Link, useSearch } from '../router.tsx';
import { BulkRerunDialog } from './bulk-rerun-dialog.tsx';
import { CancelDialog } from './cancel-dialog.tsx';
import { Filters } from './filters.tsx';
import { isOpenRun } from './open-run.ts';
import { RunTable } from './run-table.tsx';
import { useRuns } from './use-runs.ts';

export function RunList(): ReactNode {
  const search = useSearch();
  const runs = useRuns(search);
  const rows = runs.data?.pages.flatMap(({ data }) => data) ?? [];
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (runId: string): void => {
    const next = new Set(selected);
    if (!next.delete(runId)) next.add(runId);
    setSelected(next);
  };
  const isStale = runs.error !== null && runs.data !== undefined;
  return (
    <section aria-labelledby="runs-title">
      <div className="page-head">
        <h1 id="runs-title">Runs</h1>
        <span className={isStale ? 'live-mark off' : 'live-mark'} role="status">
          {isStale ? 'Connection lost. It is tried again.' : 'Live'}
        </span>
      </div>
      <Filters />
      {runs.error === null || isStale ? null : <ErrorText error={runs.error} onRetry={() => void runs.refetch()} />}
      <SelectionBar rows={rows} selected={selected} onClear={() => setSelected(new Set())} />
      {runs.isPending && runs.error === null ? <Loading /> : null}
      {runs.data !== undefined && rows.length === 0 ? <Empty isFiltered={search.size > 0} /> : null}
      {rows.length === 0 ? null : <RunTable rows={rows} selection={{ selected, onToggle: toggle }} />}
      {runs.hasNextPage ? (
        <button type="button" onClick={() => void runs.fetchNextPage()} disabled={runs.isFetchingNextPage}>
          {runs.isFetchingNextPage ? 'Loading…' : 'Older runs'}
        </button>
      ) : null}
    </section>
  );
}

interface SelectionBarProps {
  readonly rows: readonly RunSummary[];
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

function SelectionBar({ rows, selected, onClear }: SelectionBarProps): ReactNode {
  const [open, setOpen] = useState<{ readonly kind: 'cancel' | 'rerun'; readonly runIds: readonly string[] } | undefined>();
  const chosen = rows.filter(({ runId }) => selected.has(runId));
  const cancellable = chosen.filter(isOpenRun).map(({ runId }) => runId);
  const repeatable = chosen.filter(({ isExternal, isTest }) => isExternal !== true && isTest !== true).map(({ runId }) => runId);
  // Of two runs, the earlier one is A: the list has the newest first.
  const [later, earlier] = selected.size === 2 ? chosen : [];
  const close = (): void => setOpen(undefined);
  if (selected.size === 0) return null;
  return (
    <div className="selection" role="status">
      <b>{selected.size} selected</b>
      {later === undefined || earlier === undefined ? null : (
        <Link to={`/compare?a=${encodeURIComponent(earlier.runId)}&b=${encodeURIComponent(later.runId)}`}>Compare</Link>
      )}
      <button type="button" disabled={repeatable.length === 0} onClick={() => setOpen({ kind: 'rerun', runIds: repeatable })}>
        Run {repeatable.length} again…
      </button>
      <button
        type="button"
        className="danger"
        disabled={cancellable.length === 0}
        onClick={() => setOpen({ kind: 'cancel', runIds: cancellable })}
      >
        Cancel {cancellable.length} open…
      </button>
      <button type="button" className="quiet" onClick={onClear}>
        Clear
      </button>
      {open?.kind === 'cancel' ? <CancelDialog runIds={open.runIds} onCancelled={onClear} onClose={close} /> : null}
      {open?.kind === 'rerun' ? <BulkRerunDialog runIds={open.runIds} onStarted={onClear} onClose={close} /> : null}
    </div>
  );
}

const Empty = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <div className="empty">
      <h2>No run matches these filters</h2>
      <p>
        <Link to="/runs">Show all runs</Link>
      </p>
    </div>
  ) : (
    <div className="empty">
      <h2>No run exists yet</h2>
      <p>Publish a workflow and start it. This list shows the run at once.</p>
      <pre>npx stepwell workflows publish workflow.json{'\n'}npx stepwell runs start my-workflow</pre>
    </div>
  );
