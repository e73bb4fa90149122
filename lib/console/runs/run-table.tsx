/** A table of runs, with or without a column to select them. */
import type { ReactNode } from 'react';
import type { RunSummary } from '../api.ts';
import { RunRow } from './run-row.tsx';
import type { Selection } from './selection.ts';

interface RunTableProps {
  readonly rows: readonly RunSummary[];
  readonly selection?: Selection;
}

export const RunTable = ({ rows, selection }: RunTableProps): ReactNode => (
  <table className="rows runs">
    <thead>
      <tr>
        {selection === undefined ? null : (
          <th scope="col" className="select">
            <span className="hidden">Select</span>
          </th>
        )}
        <th scope="col" className="state">
          Status
        </th>
        <th scope="col" className="workflow">
          Workflow
        </th>
        <th scope="col" className="why">
          Why
        </th>
        <th scope="col" className="when">
          Created
        </th>
        <th scope="col" className="number">
          Duration
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((run) => (
        <RunRow key={run.runId} run={run} {...(selection === undefined ? {} : { selection })} />
      ))}
    </tbody>
  </table>
);
