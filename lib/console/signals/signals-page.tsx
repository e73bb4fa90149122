/** Sends a signal, and shows which runs wait for which one. The address has the name and the correlation. */
import type { ReactNode } from 'react';
import { hiddenText } from '../../base/hidden-text.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Status } from '../primitives/status.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { SendForm } from './send-form.tsx';
import { type SignalWait, useSignalWaits } from './use-signal-waits.ts';

export function SignalsPage(): ReactNode {
  const search = useSearch();
  const [name, correlation] = [search.get('name') ?? '', search.get('correlation') ?? ''];
  const waits = useSignalWaits();
  return (
    <section aria-labelledby="signals-title">
      <div className="page-head">
        <h1 id="signals-title">Signals</h1>
        <span className="dim small">A signal node waits for an event from outside, such as an approval or a payment.</span>
      </div>
      <SendForm key={`${name} ${correlation}`} name={name} correlation={correlation} onSent={waits.refetch} />
      <section className="part" aria-label="Waiting runs">
        <div className="part-head">
          <h2>Runs that wait for a signal</h2>
          {waits.rows === undefined ? null : (
            <span className="count">
              {waits.rows.length}
              {waits.hasMore ? '+' : ''}
            </span>
          )}
        </div>
        {waits.error === null ? null : <ErrorText error={waits.error} onRetry={waits.refetch} />}
        {waits.rows === undefined ? (
          waits.error === null ? (
            <Loading />
          ) : null
        ) : waits.rows.length === 0 ? (
          <Empty />
        ) : (
          <Table rows={waits.rows} />
        )}
        {waits.omitted === 0 ? null : (
          <p className="dim small">{waits.omitted} further waits of runs with many iterations are not shown.</p>
        )}
        {waits.hasMore ? (
          <button type="button" onClick={waits.loadMore} disabled={waits.isLoadingMore}>
            {waits.isLoadingMore ? 'Loading…' : 'More runs'}
          </button>
        ) : null}
      </section>
    </section>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h3>No open run waits for a signal</h3>
    <p>A signal that you send now is stored for the first node that waits for it. A node waits with:</p>
    <pre tabIndex={0}>
      {JSON.stringify(
        {
          id: 'approved',
          type: 'signal',
          config: { name: 'order-approved', correlation: '{{ctx.input.orderId}}', outputVariable: 'approval' },
        },
        undefined,
        2,
      )}
    </pre>
  </div>
);

const Table = ({ rows }: { readonly rows: readonly SignalWait[] }): ReactNode => (
  <table className="rows stack signals">
    <thead>
      <tr>
        <th scope="col">Signal</th>
        <th scope="col">Correlation</th>
        <th scope="col">Run</th>
        <th scope="col">Node</th>
        <th scope="col" className="when">
          Waits since
        </th>
        <th scope="col" className="when">
          Gives up
        </th>
        <th scope="col" className="number">
          <span className="hidden">Send</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <Row key={`${row.runId} ${row.nodeId} ${row.iteration ?? ''}`} row={row} />
      ))}
    </tbody>
  </table>
);

const Row = ({ row }: { readonly row: SignalWait }): ReactNode => (
  <tr>
    <td>
      <b>
        <bdi>{row.signal}</bdi>
      </b>
    </td>
    <td data-label="Correlation">
      <code>
        <bdi>{row.correlation}</bdi>
      </code>
    </td>
    <td data-label="Run">
      <Link to={`/runs/${encodeURIComponent(row.runId)}`} title={row.runId}>
        <bdi>{row.workflowName}</bdi> …{row.runId.slice(-8)}
      </Link>
    </td>
    <td data-label="Node">
      <Status status="waiting" />{' '}
      <span className="dim">
        {row.nodeId}
        {row.iteration === undefined ? '' : ` [${row.iteration}]`}
      </span>
    </td>
    <td className="when" data-label="Since">
      <Ago at={row.since} />
    </td>
    <td className="when" data-label="Gives up">
      {row.until === undefined ? (
        <span className="dim">at its end</span>
      ) : (
        <time dateTime={row.until}>{new Date(row.until).toLocaleString()}</time>
      )}
    </td>
    <td className="number">
      <button
        type="button"
        className="quiet"
        aria-label={`Send ${row.signal} to ${row.correlation}`}
        onClick={() => {
          setSearch({ name: row.signal, correlation: row.correlation === hiddenText ? undefined : row.correlation });
          document.getElementById('signals-title')?.scrollIntoView();
        }}
      >
        Send…
      </button>
    </td>
  </tr>
);
