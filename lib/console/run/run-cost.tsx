/** What the run cost, by list prices, with its parts. The log is read for it, so it is read once, and again when the run has ended. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { isOpenRun } from '../runs/open-run.ts';
import { bytesText, dollarsText } from './cost-text.ts';

const words: Readonly<Record<string, string>> = {
  writeUnits: 'write units',
  readUnits: 'read units',
  queueRequests: 'queue requests',
  invocations: 'invocations',
  apiRequests: 'API requests',
  busEvents: 'bus events',
  schedules: 'schedules',
  objects: 'objects',
};

export function RunCost({ run }: { readonly run: Run }): ReactNode {
  const { data } = useQuery({
    queryKey: ['cost', run.runId, isOpenRun(run) ? 'so far' : 'final'],
    queryFn: ({ signal }) => api.run(run.runId, { resolveData: 'none', nodes: 'none', estimate: 'true' }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: run.isExternal !== true,
  });
  // A run that has no estimate, and an estimate that failed, leave the head as it is.
  if (data?.estimate === undefined) return null;
  const { estimate, commits, bytes } = data;
  return (
    <div>
      <dt>Cost</dt>
      <dd>
        <details className="cost">
          <summary>≈ {dollarsText(estimate.dollars)}</summary>
          <div className="card">
            <table>
              <thead>
                <tr>
                  <th scope="col">Part</th>
                  <th scope="col">Units</th>
                  <th scope="col">Price</th>
                </tr>
              </thead>
              <tbody>
                {estimate.parts.map(({ kind, count, dollars }) => (
                  <tr key={kind}>
                    <th scope="row">{words[kind] ?? kind}</th>
                    <td>{count.toLocaleString()}</td>
                    <td>{dollarsText(dollars)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {bytes === undefined || commits === undefined ? null : (
              <p>
                {commits.toLocaleString()} commits, {bytesText(bytes)} of log.
              </p>
            )}
            <p className="dim">
              List prices of us-east-1, counted from the log. Not counted: the execution time of functions, model providers, lost
              puts, redeliveries, requests of those who look, logs, traces and storage.
            </p>
          </div>
        </details>
      </dd>
    </div>
  );
}
