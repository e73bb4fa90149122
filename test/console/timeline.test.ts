/** The waterfall's rows, from events. */
import { describe, expect, test } from 'vitest';
import { Timeline } from '../../lib/console/run/timeline.ts';

const start = Date.parse('2026-11-26T12:00:00.000Z');
const at = (ms: number): string => new Date(start + ms).toISOString();
const event = (ms: number, type: string, payload: Readonly<Record<string, string | number>>) => ({
  type,
  timestamp: at(ms),
  payload: { nodeId: 'charge', ...payload },
});

const rowsOf = (...events: readonly ReturnType<typeof event>[]) => {
  const timeline = new Timeline();
  for (const each of events) timeline.add(each);
  return timeline.rows().map((row) => ({
    ...row,
    spans: row.spans.map(({ kind, attempt, from, to }) => [kind, attempt, from - start, to === undefined ? 'open' : to - start]),
  }));
};

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

  test('shows a sleep that goes on as open', () => {
    const [row] = rowsOf(event(0, 'node.queued', {}), event(40, 'node.waiting', {}));
    expect(row?.spans).toEqual([
      ['queued', 1, 0, 40],
      ['sleeping', 1, 40, 'open'],
    ]);
    expect(row).not.toHaveProperty('status');
  });

  test('has a row for each iteration of a node', () => {
    const rows = rowsOf(
      event(0, 'node.started', { iteration: 'loop[0]' }),
      event(0, 'node.started', { iteration: 'loop[1]' }),
      event(5, 'node.failed', { iteration: 'loop[1]' }),
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
