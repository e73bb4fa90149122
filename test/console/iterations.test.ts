import { expect, test } from 'vitest';
import { iterationsOf, nodesIn } from '../../lib/console/run/iterations.ts';

const row = (nodeId: string, iteration: string | undefined, attempt: number, status: string) => ({
  nodeId,
  ...(iteration === undefined ? {} : { iteration }),
  attempt,
  status,
  eventId: 1,
});
const rows = [
  row('lines', undefined, 1, 'waiting'),
  row('lines', 'lines[0]', 0, 'completed'),
  row('price', 'lines[0]', 1, 'completed'),
  row('lines', 'lines[10]', 0, 'failed'),
  row('price', 'lines[10]', 1, 'completed'),
  row('charge', 'lines[10]', 1, 'failed'),
  row('charge', 'lines[10]', 2, 'timed_out'),
  row('refund', 'lines[10]', 0, 'skipped'),
  row('lines', 'lines[2]', 0, 'failed'),
  row('lines', 'lines[3]', 0, 'running'),
];

test('failures come first, in the order of their items, each with the node that failed', () => {
  const found = iterationsOf(rows, false);
  expect(found.map(({ key, status, nodeId }) => [key, status, nodeId])).toEqual([
    ['lines[2]', 'failed', undefined],
    ['lines[10]', 'failed', 'charge'],
    ['lines[3]', 'running', undefined],
    ['lines[0]', 'completed', 'price'],
  ]);
});

test('the end of the run cancels what is open', () => {
  expect(iterationsOf(rows, true).find(({ index }) => index === 3)?.status).toBe('cancelled');
});

test('an iteration of a loop in a loop belongs to the inner loop', () => {
  const [found] = iterationsOf([row('inner', 'outer[1]/inner[4]', 0, 'completed')], false);
  expect(found).toMatchObject({ loop: 'inner', index: 4, key: 'outer[1]/inner[4]' });
});

test('the nodes of an iteration have their latest attempts, without the iteration itself', () => {
  expect(nodesIn(rows, 'lines[10]').map(({ nodeId, status }) => [nodeId, status])).toEqual([
    ['price', 'completed'],
    ['charge', 'timed_out'],
    ['refund', 'skipped'],
  ]);
});
