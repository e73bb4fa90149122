/** The schedules by id: what each one starts, when, and whether its last due time started a run. */
import { type ReactNode, useState } from 'react';
import { type ScheduleSummary, api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { Until, dateText } from './due-times.tsx';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { ScheduleState } from './schedule-state.tsx';

export function ScheduleList(): ReactNode {
  const { matches } = useNameFilter();
  const [isCreating, setCreating] = useState(false);
  const list = usePages({ key: ['schedules'], read: api.schedules });
  return (
    <section aria-labelledby="schedules-title">
      <div className="page-head">
        <h1 id="schedules-title">Schedules</h1>
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            New schedule…
          </button>
        </span>
      </div>
      <NameFilter label="Name of the schedule or the workflow" hasArchived={false} />
      <Pages list={list} empty={<Empty />} more="More schedules">
        {(rows) => <Table rows={rows.filter(({ scheduleId, workflowName }) => matches(scheduleId, workflowName))} />}
      </Pages>
      {isCreating ? <ScheduleDialog onClose={() => setCreating(false)} /> : null}
    </section>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>No schedule exists yet</h2>
    <p>A schedule starts runs of a workflow at given times. Create one with “New schedule”, or on the command line:</p>
    <pre tabIndex={0}>npx stepwell schedules create nightly --workflow my-workflow --cron "0 3 * * *"</pre>
  </div>
);

const Table = ({ rows }: { readonly rows: readonly ScheduleSummary[] }): ReactNode =>
  rows.length === 0 ? (
    <p className="none dim">
      No schedule matches. <Link to="/schedules">Show all schedules</Link>
    </p>
  ) : (
    <table className="rows stack schedules">
      <thead>
        <tr>
          <th scope="col">Schedule</th>
          <th scope="col">Workflow</th>
          <th scope="col">When</th>
          <th scope="col">Last run</th>
          <th scope="col">Next</th>
          <th scope="col" className="state">
            State
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((schedule) => (
          <Row key={schedule.scheduleId} schedule={schedule} />
        ))}
      </tbody>
    </table>
  );

const Row = ({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode => {
  const { scheduleId, workflowName, version, cron, rate, timeZone, lastRun, nextRunAt } = schedule;
  return (
    <tr>
      <td>
        <Link to={`/schedules/${encodeURIComponent(scheduleId)}`} className="name">
          <bdi>{scheduleId}</bdi>
        </Link>
      </td>
      <td data-label="Workflow">
        <Link to={`/workflows/${encodeURIComponent(workflowName)}`}>
          <bdi>{workflowName}</bdi>
        </Link>
        {version === undefined ? null : <span className="dim small"> v{version}</span>}
      </td>
      <td data-label="When">
        {cron === undefined ? `every ${rate ?? ''}` : <code>{cron}</code>}
        {cron === undefined ? null : <span className="dim small"> {timeZone ?? 'UTC'}</span>}
      </td>
      <td data-label="Last run">
        {lastRun === undefined ? (
          <span className="dim">none</span>
        ) : (
          <Link to={`/runs/${encodeURIComponent(lastRun.runId)}`}>
            <Ago at={lastRun.startedAt} />
          </Link>
        )}
      </td>
      <td data-label="Next">
        {nextRunAt === undefined ? (
          <span className="dim">none</span>
        ) : (
          <time dateTime={nextRunAt} title={dateText(nextRunAt, timeZone ?? 'UTC')}>
            <Until at={nextRunAt} />
          </time>
        )}
      </td>
      <td data-label="State">
        <ScheduleState schedule={schedule} />
      </td>
    </tr>
  );
};
