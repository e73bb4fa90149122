/** What lies beside a run's log: attachments, beats, the snapshot. */
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { jsonValue } from '../codec/events.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Beat, Snapshot } from '../ports/run-log.ts';
import {
  type Item,
  expiry,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  textAttribute,
} from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { nodeIn } from './run-keys.ts';

const attachmentItem = z.object({ v: itemVersionAttribute, j: packedAttribute });
export const attachmentAttributes = (value: JsonValue, expiresAt: Instant): Item => ({
  v: itemVersion,
  j: packed(value),
  [runsTableKeys.expiry]: expiry(expiresAt),
});
export const attachmentIn = (item: Item): JsonValue =>
  readJson('an attachment', jsonValue, unpack('an attachment', read('an attachment', attachmentItem, item).j));

const beatItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.transform(nodeIn).pipe(schema.nodeKey),
  a: instantAttribute,
  r: numberAttribute,
});
export const beatAttributes = (beat: Beat, expiresAt: Instant): Item => ({
  v: itemVersion,
  a: number(beat.at),
  r: number(beat.resends),
  [runsTableKeys.expiry]: expiry(expiresAt),
});
export const beatIn = (item: Item): Beat => {
  const { sk, a, r } = read('a beat', beatItem, item);
  return { node: sk, at: a, resends: r };
};

const snapshotItem = z.object({
  v: itemVersionAttribute,
  asOf: numberAttribute.pipe(schema.commitNo),
  s: numberAttribute,
  j: packedAttribute,
});
export const snapshotAttributes = (snapshot: Snapshot, expiresAt: Instant): Item => ({
  v: itemVersion,
  asOf: number(snapshot.asOf),
  s: number(snapshot.schema),
  j: packed(snapshot.state),
  [runsTableKeys.expiry]: expiry(expiresAt),
});
export const snapshotIn = (item: Item): Snapshot => {
  const { asOf, s, j } = read('a snapshot', snapshotItem, item);
  return { asOf, schema: s, state: readJson('a snapshot', jsonValue, unpack('a snapshot', j)) };
};
