/** The lines that `stepwell dev` prints for the events of a run. */
import { expect, test } from 'vitest';
import { describeRunEvent } from '../../lib/cli/project/run-lines.ts';
import type { RunEvent } from '../../lib/client/index.ts';

const plain = { colorize: (_tone: string, text: string): string => text };

const event = (second: number, type: RunEvent['type'], payload: RunEvent['payload'] = {}): RunEvent => ({
  eventId: second + 1,
  sequence: 0,
  type,
  timestamp: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
  runId: 'wrun_01M7XSDTEE14XW69VBQD8BT3DC',
  payload,
});

const linesOf = (events: readonly RunEvent[]): readonly string[] => {
  const run = { begunAt: new Map<string, number>(), startedAt: undefined };
  return events.flatMap((each) => describeRunEvent(plain, run, each) ?? []);
};

test('a run has a line for its start, for each node with its duration, and for its end', () => {
  expect(
    linesOf([
      event(0, 'run.started'),
      event(0, 'node.queued', { nodeId: '.workflow-task.1' }),
      event(1, 'node.queued', { nodeId: 'charge' }),
      event(3, 'node.completed', { nodeId: 'charge', attempt: 1 }),
      event(3, 'node.waiting', { nodeId: 'pause', wakeAt: '2026-01-01T00:00:05.000Z' }),
      event(4, 'node.completed', { nodeId: '.workflow-task.1' }),
      event(5, 'node.completed', { nodeId: 'pause' }),
      event(6, 'run.completed'),
    ]),
  ).toEqual([
    '▸ running  run started',
    '✓ completed  charge  2 s',
    '◷ waiting  pause  until 2026-01-01T00:00:05.000Z',
    '✓ completed  pause  2 s',
    '✓ completed  run  6 s',
  ]);
});

test('a failure has its code and message, and a retry says so', () => {
  const failure = { cause: 'provider_error', code: 'http_status', message: 'the status is 503' };
  expect(
    linesOf([
      event(0, 'node.queued', { nodeId: 'call', iteration: 'each:1' }),
      event(1, 'node.retried', { nodeId: 'call', iteration: 'each:1', failure }),
      event(2, 'node.failed', { nodeId: 'call', iteration: 'each:1', failure }),
      event(3, 'run.failed', { error: failure }),
    ]),
  ).toEqual([
    '✗ failed  call [each:1]  http_status: the status is 503  retried',
    '✗ failed  call [each:1]  2 s  http_status: the status is 503',
    '✗ failed  run  http_status: the status is 503',
  ]);
});
