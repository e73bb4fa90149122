import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { type Listing, decodeCursor, encodeCursor } from '../../lib/api/cursor.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';

const listing = (
  change: { operationId?: string; project?: string; env?: string; filters?: Listing['filters'] } = {},
): Listing => ({
  operationId: change.operationId ?? 'listRuns',
  scope: { projectId: projectId(change.project ?? 'p'), environment: environment(change.env ?? 'e') },
  filters: change.filters ?? { status: 'failed' },
});
const position = z.strictObject({ at: z.number() });

test('a cursor decodes to its position', () => {
  expect(decodeCursor(listing(), position, encodeCursor(listing(), { at: 7 }))).toEqual({ at: 7 });
});

test.each([
  { operationId: 'other' },
  { project: 'q' },
  { env: 'f' },
  { filters: {} },
  { filters: { status: 'failed', more: 1 } },
])('the cursor of another listing is refused: %j', (change) => {
  expect(decodeCursor(listing(change), position, encodeCursor(listing(), { at: 7 }))).toBeUndefined();
});

test('an absent filter equals an undefined one', () => {
  const cursor = encodeCursor(listing({ filters: { a: 1, b: undefined } }), { at: 7 });
  expect(decodeCursor(listing({ filters: { a: 1 } }), position, cursor)).toEqual({ at: 7 });
});

test('invalid text decodes to undefined', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(decodeCursor(listing(), position, text)).toBeUndefined();
    }),
  );
  expect(decodeCursor(listing(), position, encodeCursor(listing(), { at: 'soon' }))).toBeUndefined();
});
