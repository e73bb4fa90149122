/** Due times in the time zone of the schedule and, if it differs, in that of the browser. */
import type { ReactNode } from 'react';
import { durationText } from '../primitives/duration.ts';
import { useNow } from '../primitives/time.tsx';

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** For example `Mon, 30 Nov 2026, 03:00`. */
export const dateText = (at: number | string, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
  }).format(new Date(at));

export const Until = ({ at }: { readonly at: number | string }): ReactNode => {
  const ms = new Date(at).getTime() - useNow();
  return <>{ms <= 0 ? 'now' : `in ${durationText(ms)}`}</>;
};

interface DueTimesProps {
  readonly times: readonly number[];
  readonly timeZone: string;
}

export const DueTimes = ({ times, timeZone }: DueTimesProps): ReactNode => (
  <>
    <p className="dim small">
      In the time zone {timeZone}
      {timeZone === ownZone ? ', which is yours.' : '.'}
    </p>
    <ol className="due-times" aria-label="Next due times">
      {times.map((at) => (
        <li key={at}>
          <time dateTime={new Date(at).toISOString()}>{dateText(at, timeZone)}</time>
          {timeZone === ownZone ? null : <span className="dim small">{clockText(at)} here</span>}
          <span className="dim">
            <Until at={at} />
          </span>
        </li>
      ))}
    </ol>
  </>
);

const clockText = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit', timeZone: ownZone }).format(at);
