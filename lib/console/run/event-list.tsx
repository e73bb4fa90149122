/** All events of a run, in their order. Only those in view are in the page, and only they are read; one opens to its payload. */
import { type ReactNode, useEffect, useState } from 'react';
import type { RunEvent } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Clock } from '../primitives/time.tsx';
import { useWindow } from '../primitives/use-window.ts';
import type { Connection, LoggedEvent, RunEvents } from './run-events.ts';

const nodeOf = ({ payload }: RunEvent): string => (typeof payload['nodeId'] === 'string' ? payload['nodeId'] : '');

const rowHeight = 34;

const connections: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting to the run.',
  live: 'Live: events appear as they happen.',
  reconnecting: 'The connection was lost. The page reconnects, and no event is missed.',
  complete: 'The run has ended. These are all its events.',
};

export function EventList({ reader, version }: { readonly reader: RunEvents; readonly version: number }): ReactNode {
  const [filter, setFilter] = useState('');
  const [opened, setOpened] = useState<number | undefined>();
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const { last, error } = reader;
  const matching = filter === '' ? undefined : matchingIds(reader, filter);
  const count = matching?.length ?? last;
  const shown = useWindow(scroller, count, rowHeight);
  const idAt = (row: number): number => matching?.[row] ?? row + 1;
  useEffect(() => {
    // A filter searches all events; without one, those in view are enough.
    if (filter !== '') reader.load(1, last);
    else if (shown.to > shown.from) reader.load(shown.from + 1, shown.to);
  }, [reader, version, filter, last, shown.from, shown.to]);
  const openedRow = opened === undefined ? undefined : (matching?.indexOf(opened) ?? opened - 1);
  const open = opened === undefined ? undefined : reader.at(opened);
  // The list gets shorter when an event opens: the event stays in view.
  useEffect(() => {
    if (scroller !== null && openedRow !== undefined) scroller.scrollTop = Math.max(0, (openedRow - 2) * rowHeight);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a list that grows does not scroll
  }, [scroller, opened]);
  const ids = Array.from({ length: shown.to - shown.from }, (_, row) => idAt(shown.from + row));
  return (
    <>
      <Search
        reader={reader}
        filter={filter}
        onFilter={(next) => {
          setFilter(next);
          setOpened(undefined);
        }}
      />
      {error === undefined ? null : (
        <ErrorText error={error} onRetry={() => (filter === '' ? reader.load(shown.from + 1, shown.to) : reader.load(1, last))} />
      )}
      <div
        className={open === undefined ? 'scroller' : 'scroller short'}
        ref={setScroller}
        tabIndex={0}
        role="region"
        aria-label="Events"
      >
        <div style={{ height: count * rowHeight }}>
          <ul className="events" style={{ transform: `translateY(${shown.from * rowHeight}px)` }}>
            {ids.map((id) => (
              <EventRow key={id} id={id} logged={reader.at(id)} isOpen={id === opened} onOpen={setOpened} />
            ))}
          </ul>
        </div>
      </div>
      {open === undefined ? null : <Payload logged={open} />}
    </>
  );
}

interface SearchProps {
  readonly reader: RunEvents;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

const Search = ({ reader: { known, last, connection }, filter, onFilter }: SearchProps): ReactNode => (
  <div className="filters">
    <input
      type="search"
      className="grow"
      aria-label="Type or node"
      placeholder="Type or node"
      value={filter}
      onChange={(event) => onFilter(event.currentTarget.value)}
    />
    <span role="status" className="dim">
      {filter !== '' && known < last
        ? `Searched ${known.toLocaleString()} of ${last.toLocaleString()} events.`
        : connections[connection]}
    </span>
  </div>
);

function matchingIds(reader: RunEvents, filter: string): readonly number[] {
  const found: number[] = [];
  for (let id = 1; id <= reader.last; id += 1) {
    const logged = reader.at(id);
    if (logged === undefined) continue;
    const all = logged.event === undefined ? logged.derived : [logged.event, ...logged.derived];
    if (all.some((event) => event.type.includes(filter) || nodeOf(event).includes(filter))) found.push(id);
  }
  return found;
}

interface EventRowProps {
  readonly id: number;
  /** undefined: not read yet */
  readonly logged: LoggedEvent | undefined;
  readonly isOpen: boolean;
  readonly onOpen: (id: number) => void;
}

const EventRow = ({ id, logged, isOpen, onOpen }: EventRowProps): ReactNode => {
  const event = logged?.event;
  if (logged === undefined || event === undefined)
    return (
      <li className="dim unread">
        <span>{id}</span> …
      </li>
    );
  return (
    <li>
      <button type="button" aria-expanded={isOpen} onClick={() => onOpen(id)}>
        <span className="dim">{id}</span> <Clock at={event.timestamp} /> <span className="type">{event.type}</span>{' '}
        <span>
          <bdi>{nodeOf(event)}</bdi>
          {logged.derived.length === 0 ? null : <span className="dim"> + {noteOf(logged.derived)}</span>}
        </span>
      </button>
    </li>
  );
};

/** Such as `node.log`, or `3 node.cancelled`. */
const noteOf = (derived: readonly RunEvent[]): string => {
  const types = Map.groupBy(derived, ({ type }) => type);
  return [...types].map(([type, events]) => (events.length === 1 ? type : `${events.length} ${type}`)).join(', ');
};

const Payload = ({ logged: { event, derived } }: { readonly logged: LoggedEvent }): ReactNode => (
  <section aria-label="Payload of the event" className="card events-payload">
    {event === undefined ? null : (
      <>
        <h2>
          {event.eventId} {event.type}
        </h2>
        <JsonTree value={event.payload} />
      </>
    )}
    {derived.map((each) => (
      <div key={`${each.type}${JSON.stringify([each.payload['nodeId'], each.payload['iteration'], each.payload['attempt']])}`}>
        <h3>{each.type}</h3>
        <JsonTree value={each.payload} />
      </div>
    ))}
  </section>
);
