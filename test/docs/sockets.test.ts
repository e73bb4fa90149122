/** docs/SOCKETS.md says what the functions answer and post, in their words. */
import { expect, test } from 'vitest';
import { errorCatalogue } from '../../lib/api/errors.ts';
import { socketActions, socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { deltaEventName, derivedEventNames, heartbeatEventName } from '../../lib/engine/log/event-names.ts';
import { nodeUpdateName, statusUpdateName } from '../../lib/engine/log/socket-update.ts';
import { maxJoinedRuns } from '../../lib/service/watching/join-run.ts';
import { maxDerivedFrames, maxFrameValueBytes } from '../../lib/service/watching/socket-frames.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/SOCKETS.md');
const firstCells = (section: string) =>
  rowsIn(text)
    .filter((row) => row.section === section)
    .map(({ cells: [first = ''] }) => first);

test('every action and every type of frame, and no others', () => {
  const actions = firstCells('Client messages').map((cell) => /"action": "([a-z]+)"/.exec(cell)?.[1]);
  expect(actions).toEqual([...socketActions]);
  const types = firstCells('Server messages').flatMap(quotedIn);
  const posted = [
    'joined',
    nodeUpdateName,
    statusUpdateName,
    derivedEventNames.log,
    deltaEventName,
    heartbeatEventName,
    'left',
    'pong',
    'error',
  ];
  expect(types.toSorted()).toEqual(posted.toSorted());
});

test('the statuses that an update can have', () => {
  const source = read('lib/engine/log/socket-update.ts');
  const union = source.slice(source.indexOf('type UpdatedStatus'), source.indexOf('export interface NodeUpdate'));
  const statuses = [...union.matchAll(/'([a-z_]+)'/g)].map(([, status = '']) => status);
  expect(statuses.length).toBe(10);
  for (const status of statuses) expect(text).toContain(`\`${status}\``);
});

test('the refusals of an opening have the status that it says', () => {
  const refused = [...text.matchAll(/(\d{3})\s*\(((?:`[a-z_]+`(?:, )?)+)\)/g)].flatMap(([, status, codes = '']) =>
    quotedIn(codes).map((code) => [code, Number(status)] as const),
  );
  expect(refused.map(([code]) => code)).toEqual([
    'unauthorized',
    'ticket_invalid',
    'key_in_query',
    'https_required',
    'rate_limited',
    'unavailable',
  ]);
  for (const [code, status] of refused)
    expect(Object.entries(errorCatalogue).find(([name]) => name === code)?.[1].status).toBe(status);
});

test('its numbers', () => {
  expect(text).toContain(`At most ${maxDerivedFrames} nodes`);
  expect(text).toContain(`More than ${maxJoinedRuns} runs on one socket`);
  expect(text).toContain(`above ${socketMessageLimitBytes.toLocaleString('en-US')} bytes`);
  expect(text.split(`${maxFrameValueBytes.toLocaleString('en-US')} bytes`)).toHaveLength(3);
});

test('the client is the one of the examples, word for word', () => {
  expect(text).toContain(read('examples/watch-socket.ts'));
});
