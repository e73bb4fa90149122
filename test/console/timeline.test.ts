/** The waterfall's rows, from the attempts of a run, and those from its events. */
import { describe, expect, test } from 'vitest';
import { Timeline } from '../../lib/engine/log/timeline.ts';
import { waterfallRows } from '../../lib/console/run/waterfall-rows.ts';

const start = Date.parse('2026-11-26T12:00:00.000Z');
const at = (ms: number): string => new Date(start + ms).toISOString();
let last = 0;
const event = (ms: number, type: string, payload: Readonly<Record<string, string | number>>) => ({
  eventId: (last += 1),
  type,
  timestamp: at(ms),
  payload: { nodeId: 'charge', ...payload },
});
type Event = ReturnType<typeof event>;

const timelineOf = (events: readonly Event[]): Timeline => {
  const timeline = new Timeline(Date.parse);
  for (const each of events) timeline.add(each);
  return timeline;
};
const rowsOf = (...events: readonly Event[]) =>
  waterfallRows(timelineOf(events).rows()).map((row) => ({
    ...row,
    spans: row.spans.map(({ kind, attempt, from, to }) => [kind, attempt, from - start, to === undefined ? 'open' : to - start]),
  }));

describe('the waterfall', () => {
  test('keeps queueing, work and backoff of each attempt apart', () => {
    expect(
      rowsOf(
        event(0, 'node.queued', { attempt: 1 }),
        event(100, 'node.started', { attempt: 1 }),
        event(250, 'node.retried', { attempt: 1, startedAt: at(100), endedAt: at(200) }),
        event(900, 'node.completed', { attempt: 2, startedAt: at(700), endedAt: at(800) }),
      ),
    ).toEqual([
      {
        nodeId: 'charge',
        status: 'completed',
        spans: [
          ['queued', 1, 0, 100],
          ['working', 1, 100, 200],
          ['backoff', 2, 200, 700],
          ['working', 2, 700, 800],
        ],
      },
    ]);
  });

  test('shows an attempt of a pack as queued when it started: its events have the later time of their commit', () => {
    const [row] = rowsOf(
      event(240, 'node.queued', { attempt: 1 }),
      event(240, 'node.started', { attempt: 1, startedAt: at(100) }),
      event(240, 'node.completed', { attempt: 1, startedAt: at(100), endedAt: at(110) }),
    );
    expect(row?.spans).toEqual([['working', 1, 100, 110]]);
  });

  test('shows a sleep that goes on as open', () => {
    const [row] = rowsOf(event(0, 'node.queued', {}), event(40, 'node.waiting', {}));
    expect(row?.spans).toEqual([
      ['queued', 1, 0, 40],
      ['sleeping', 1, 40, 'open'],
    ]);
    expect(row).not.toHaveProperty('status');
  });

  test('shows a backoff that goes on as open', () => {
    const [row] = rowsOf(event(5, 'node.retried', { attempt: 1, startedAt: at(0), endedAt: at(4) }));
    expect(row).toEqual({
      nodeId: 'charge',
      spans: [
        ['working', 1, 0, 4],
        ['backoff', 2, 4, 'open'],
      ],
    });
  });

  test('a sleep lasts from its own event, also where its outcome names the start of the attempt', () => {
    const [row] = rowsOf(
      event(0, 'node.queued', {}),
      event(40, 'node.waiting', {}),
      event(90, 'node.completed', { startedAt: at(10), endedAt: at(90) }),
    );
    expect(row?.spans).toEqual([
      ['queued', 1, 0, 40],
      ['sleeping', 1, 40, 90],
    ]);
  });

  test('has a row for each iteration of a node, and none for the iteration itself', () => {
    const rows = rowsOf(
      event(0, 'iteration.started', { nodeId: 'loop', index: 0 }),
      event(0, 'node.started', { iteration: 'loop[0]' }),
      event(0, 'node.started', { iteration: 'loop[1]' }),
      event(5, 'node.failed', { iteration: 'loop[1]' }),
      event(6, 'node.skipped', { nodeId: 'never' }),
    );
    expect(rows.map(({ iteration, status }) => [iteration, status])).toEqual([
      ['loop[0]', undefined],
      ['loop[1]', 'failed'],
    ]);
  });

  test('ignores events without a node', () => {
    expect(rowsOf({ ...event(0, 'run.started', {}), payload: { nodeId: '.code' } })).toEqual([]);
  });
});

describe('the timeline', () => {
  const events = [
    event(0, 'iteration.started', { nodeId: 'loop', iteration: 'outer[2]', index: 3, attempt: 1 }),
    event(1, 'iteration.ended', { nodeId: 'loop', iteration: 'outer[2]', index: 3, attempt: 1, status: 'failed' }),
    event(2, 'node.queued', { attempt: 1 }),
    event(3, 'node.retried', { attempt: 1, startedAt: at(2), endedAt: at(3) }),
    event(4, 'node.timed_out', { attempt: 2, startedAt: at(3), endedAt: at(4) }),
    event(5, 'node.skipped', { nodeId: 'never' }),
  ];

  test('names an iteration by its loop, and has the wait and the end of each attempt', () => {
    const rows = timelineOf(events).rows();
    expect(rows.map(({ nodeId, iteration, attempt, status }) => [nodeId, iteration, attempt, status])).toEqual([
      ['loop', 'outer[2]/loop[3]', 0, 'failed'],
      ['charge', undefined, 1, 'failed'],
      ['charge', undefined, 2, 'timed_out'],
      ['never', undefined, 0, 'skipped'],
    ]);
  });

  test('the same events again change nothing, so a page and a stream may overlap', () => {
    const timeline = timelineOf(events);
    const before = timeline.rows();
    for (const each of events) timeline.add(each);
    expect(timeline.rows()).toEqual(before);
  });
});
