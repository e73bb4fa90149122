/** The sentence that says why a run is open or failed, its state in one word, and the node that it is about. */
import { describe, expect, test } from 'vitest';
import { explain, stateOf, why } from '../../lib/console/runs/why.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const inTenMinutes = new Date(now + 600_000).toISOString();
type Explained = Parameters<typeof explain>[0];
type Node = Explained['nodes'][number];

const node = (status: Node['status'], more: Partial<Node> = {}): Node => ({
  nodeId: 'charge',
  type: 'http',
  label: 'Charge the card',
  status,
  attempt: 1,
  ...more,
});
const open = (...nodes: readonly Node[]): Explained => ({ status: 'pending', nodes: [...nodes] });
const declined = { code: 'http_status', cause: 'provider_error', message: 'the service said 503' } as const;

describe('why a run is open', () => {
  test.each<[string, Explained, string, string]>([
    [
      'a signal',
      open(node('waiting', { waitingFor: { signal: 'approved', correlation: 'order-7', until: inTenMinutes } })),
      'waiting',
      'Charge the card waits for the signal approved/order-7, and gives up in 10 m.',
    ],
    ['a sleep', open(node('waiting', { wakeAt: inTenMinutes })), 'waiting', 'Charge the card sleeps and wakes in 10 m.'],
    [
      'a retry',
      open(node('queued', { error: declined, attempt: 2, wakeAt: inTenMinutes })),
      'retrying',
      'Charge the card failed with http_status: the service said 503, again in 10 m (attempt 2).',
    ],
    [
      'a retry whose failure is not known',
      open(node('queued', { attempt: 2, wakeAt: inTenMinutes })),
      'retrying',
      'Charge the card failed, and is tried again in 10 m (attempt 2).',
    ],
    ['the queue', open(node('queued')), 'queued', 'Charge the card is in the queue.'],
    [
      'what a person can act on, before what runs',
      open(node('running', { nodeId: 'other' }), node('queued', { error: declined })),
      'retrying',
      'Charge the card failed with http_status: the service said 503 (attempt 1). 1 other node is open.',
    ],
  ])('%s', (_name, run, state, sentence) => {
    expect([stateOf(run), why(run, now)]).toEqual([state, sentence]);
    expect(explain(run, now)?.nodeId).toBe('charge');
  });
});

describe('why a run ended', () => {
  test('a completed run needs no reason', () => {
    expect(why({ status: 'completed', nodes: [] }, now)).toBeUndefined();
  });
  test('a cancelled run says who gave which reason', () => {
    expect(why({ status: 'cancelled', nodes: [], cancelReason: 'not needed' }, now)).toBe('It was cancelled: not needed');
  });
  test('a failed run names its root cause and the node of it', () => {
    const rootCause = { nodeId: 'charge', attempt: 3, error: declined };
    const run: Explained = { status: 'failed', nodes: [], rootCause, error: { ...declined, code: 'node_failed' } };
    expect(explain(run, now)).toEqual({
      code: 'http_status',
      nodeId: 'charge',
      text: 'the service said 503 (charge, attempt 3)',
    });
    expect(stateOf(run)).toBe('failed');
  });
});
