/** All events of a run, in their order. Only those in view are in the page; one opens to its payload. */
import { type ReactNode, useEffect, useState } from 'react';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Clock } from '../primitives/time.tsx';
import { useWindow } from '../primitives/use-window.ts';
import type { RunEvent } from '../api.ts';
import type { RunEvents } from './run-events.ts';

const nodeOf = ({ payload }: RunEvent): string => (typeof payload['nodeId'] === 'string' ? payload['nodeId'] : '');

const rowHeight = 34;

const connections: Readonly<Record<RunEvents['connection'], string>> = {
  loading: 'Loading events…',
  live: 'Live: events appear as they happen.',
  reconnecting: 'The connection was lost. The page reconnects, and no event is missed.',
  complete: 'The run has ended. These are all its events.',
  failed: 'The events could not be read. Load the page again.',
};

export function EventList({ events: { events, connection, error } }: { readonly events: RunEvents }): ReactNode {
  const [filter, setFilter] = useState('');
  const [opened, setOpened] = useState<number | undefined>();
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const matching =
    filter === '' ? events : events.filter((event) => event.type.includes(filter) || nodeOf(event).includes(filter));
  const shown = useWindow(scroller, matching.length, rowHeight);
  const open = opened === undefined ? undefined : matching[opened];
  // The list gets shorter when an event opens: the event stays in view.
  useEffect(() => {
    if (scroller !== null && opened !== undefined) scroller.scrollTop = Math.max(0, (opened - 2) * rowHeight);
  }, [scroller, opened]);
  return (
    <>
      <div className="filters">
        <input
          type="search"
          className="grow"
          aria-label="Type or node"
          placeholder="Type or node"
          value={filter}
          onChange={(event) => {
            setFilter(event.currentTarget.value);
            setOpened(undefined);
          }}
        />
        <span role="status" className="dim">
          {connections[connection]}
        </span>
      </div>
      {error === undefined ? null : <ErrorText error={error} />}
      <div
        className={open === undefined ? 'scroller' : 'scroller short'}
        ref={setScroller}
        tabIndex={0}
        role="region"
        aria-label="Events"
      >
        <div style={{ height: matching.length * rowHeight }}>
          <ul className="events" style={{ transform: `translateY(${shown.from * rowHeight}px)` }}>
            {matching.slice(shown.from, shown.to).map((event, index) => (
              <li key={`${event.eventId}${event.type}${nodeOf(event)}`}>
                <button type="button" aria-expanded={opened === shown.from + index} onClick={() => setOpened(shown.from + index)}>
                  <span className="dim">{event.eventId}</span> <Clock at={event.timestamp} />{' '}
                  <span className="type">{event.type}</span> <bdi>{nodeOf(event)}</bdi>
                </button>
              </li>
            ))}
          </ul>
        </div>
      </div>
      {open === undefined ? null : <Payload event={open} />}
    </>
  );
}

const Payload = ({ event: { eventId, type, payload } }: { readonly event: RunEvent }): ReactNode => (
  <section aria-label="Payload of the event" className="card events-payload">
    <h2>
      {eventId} {type}
    </h2>
    <JsonTree value={payload} />
  </section>
);
