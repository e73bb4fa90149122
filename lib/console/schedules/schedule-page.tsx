/** One schedule: when it is due, what its recent due times did, and what a person can do with it. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Schedule, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { DueTimes, dateText } from './due-times.tsx';
import { isFailing } from './is-failing.ts';
import { DeleteSchedule, PauseSchedule, RunNow } from './schedule-actions.tsx';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { ScheduleState } from './schedule-state.tsx';
import { upcomingOf } from './upcoming.ts';

const pollMs = 15_000;

export function SchedulePage({ scheduleId }: { readonly scheduleId: string }): ReactNode {
  const schedule = useQuery({
    queryKey: ['schedules', scheduleId],
    queryFn: ({ signal }) => api.schedule(scheduleId, signal),
    refetchInterval: pollMs,
  });
  return (
    <article aria-labelledby="schedule-title">
      <nav aria-label="Path" className="crumbs">
        <Link to="/schedules">Schedules</Link> /
      </nav>
      {schedule.data === undefined ? (
        schedule.error === null ? (
          <Loading />
        ) : (
          <>
            <h1 id="schedule-title">{scheduleId}</h1>
            <ErrorText error={schedule.error} onRetry={() => void schedule.refetch()} />
          </>
        )
      ) : (
        <Content schedule={schedule.data} />
      )}
    </article>
  );
}

type Action = 'run' | 'pause' | 'edit' | 'delete';

function Content({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const [open, setOpen] = useState<Action | undefined>();
  const close = (): void => setOpen(undefined);
  return (
    <>
      <div className="page-head">
        <h1 id="schedule-title">
          <bdi>{schedule.scheduleId}</bdi>
        </h1>
        <ScheduleState schedule={schedule} />
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setOpen('run')}>
            Run now…
          </button>
          <button type="button" onClick={() => setOpen('edit')}>
            Edit…
          </button>
          <button type="button" onClick={() => setOpen('pause')}>
            {schedule.paused ? 'Resume…' : 'Pause…'}
          </button>
          <button type="button" className="danger" onClick={() => setOpen('delete')}>
            Delete…
          </button>
        </span>
      </div>
      {schedule.lastFailure !== undefined && isFailing(schedule) ? (
        <p className="notice bad" role="status">
          The due time <Ago at={schedule.lastFailure.scheduledAt} /> started no run: <code>{schedule.lastFailure.code}</code>{' '}
          <bdi>{schedule.lastFailure.message}</bdi>
        </p>
      ) : null}
      <Facts schedule={schedule} />
      <div className="columns">
        <Next schedule={schedule} />
        <Recent schedule={schedule} />
      </div>
      <section className="card" aria-label="Input">
        <h2>Input of each run</h2>
        {schedule.payloadsHidden === true ? (
          <Hidden />
        ) : schedule.input === undefined ? (
          <p className="dim">None: an empty object.</p>
        ) : (
          <JsonTree value={schedule.input} />
        )}
      </section>
      {open === 'run' ? <RunNow schedule={schedule} onClose={close} /> : null}
      {open === 'edit' ? <ScheduleDialog schedule={schedule} onClose={close} /> : null}
      {open === 'pause' ? <PauseSchedule schedule={schedule} onClose={close} /> : null}
      {open === 'delete' ? <DeleteSchedule schedule={schedule} onClose={close} /> : null}
    </>
  );
}

const overlaps: Readonly<Record<string, string>> = {
  skip: 'skip the due time',
  allow: 'start another run',
  cancel_previous: 'cancel the open run',
};

const Facts = ({ schedule }: { readonly schedule: Schedule }): ReactNode => {
  const { workflowName, version, cron, rate, timeZone = 'UTC', startAt, endAt, overlap } = schedule;
  return (
    <dl className="facts">
      <Fact name="Workflow">
        <Link to={`/workflows/${encodeURIComponent(workflowName)}`}>
          <bdi>{workflowName}</bdi>
        </Link>{' '}
        {version === undefined ? <span className="dim">latest version</span> : `v${version}`}
      </Fact>
      <Fact name="When">{cron === undefined ? `every ${rate ?? ''}` : <code>{cron}</code>}</Fact>
      {cron === undefined ? null : <Fact name="Time zone">{timeZone}</Fact>}
      {startAt === undefined ? null : <Fact name="From">{dateText(startAt, timeZone)}</Fact>}
      {endAt === undefined ? null : <Fact name="Until">{dateText(endAt, timeZone)}</Fact>}
      <Fact name="While a run is open">{overlaps[overlap] ?? overlap}</Fact>
      <Fact name="Runs">
        <Link to={`/runs?schedule=${encodeURIComponent(schedule.scheduleId)}`}>Show the runs</Link>
      </Fact>
    </dl>
  );
};

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

function Next({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const times = upcomingOf(schedule, useNow());
  return (
    <section className="card" aria-label="Next">
      <h2>{schedule.paused ? 'Next, if it is resumed now' : 'Next'}</h2>
      {times.length > 0 ? (
        <DueTimes times={times} timeZone={schedule.timeZone ?? 'UTC'} />
      ) : (
        <p className="dim">{schedule.paused ? 'A rate counts on when the schedule is resumed.' : 'It is not due again.'}</p>
      )}
    </section>
  );
}

const tones: Readonly<Record<string, string>> = {
  started: 'good',
  starting: 'live',
  skipped: 'wait',
  missed: 'wait',
  failed: 'bad',
};
const reasons: Readonly<Record<string, string>> = {
  skipped: 'a run of the schedule was open',
  missed: 'it was processed too late',
};

const Recent = ({ schedule: { recentFires, timeZone = 'UTC' } }: { readonly schedule: Schedule }): ReactNode => (
  <section className="card" aria-label="Recent">
    <h2>Recent due times</h2>
    {recentFires.length === 0 ? (
      <p className="dim">It has not been due yet.</p>
    ) : (
      <ol className="due-times" aria-label="Recent due times">
        {recentFires.map(({ scheduledAt, outcome, runId, code, message }) => (
          <li key={scheduledAt}>
            <time dateTime={scheduledAt}>{dateText(scheduledAt, timeZone)}</time>
            <span className={tones[outcome]}>
              {runId === undefined ? outcome : <Link to={`/runs/${encodeURIComponent(runId)}`}>{outcome}</Link>}
            </span>
            <span className="dim">
              {code === undefined ? (reasons[outcome] ?? '') : `${code}: `}
              <bdi>{message}</bdi>
            </span>
          </li>
        ))}
      </ol>
    )}
  </section>
);
