/** Items beside a run's log: attachments, heartbeats, the snapshot. */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { JsonValue } from '../engine/json.ts';
import type { BegunDelivery, Deliveries, LostDelivery } from '../engine/log/deliveries.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';
import type { Snapshot } from '../ports/run-log.ts';
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

const begun = exactly<BegunDelivery>()(
  z.strictObject({ at: schema.instant, lastHeartbeatAt: schema.instant, endedSteps: z.int().min(0), resends: z.int().min(0) }),
);
const lostDelivery = exactly<LostDelivery>()(
  z.strictObject({
    begunAt: schema.instant.exactOptional(),
    lastHeartbeatAt: schema.instant,
    noticedAt: schema.instant,
    hasProgressed: z.literal(true).exactOptional(),
    reason: z.string().exactOptional(),
  }),
);
const deliveries = exactly<Deliveries>()(
  z.strictObject({
    begun: begun.exactOptional(),
    lost: z.array(lostDelivery).readonly(),
    isReleased: z.literal(true).exactOptional(),
  }),
);

const heartbeatItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.transform(nodeIn).pipe(schema.nodeKey),
  a: instantAttribute,
  r: numberAttribute,
  d: packedAttribute.optional(),
  t: numberAttribute.pipe(schema.attempt).optional(),
});
export const heartbeatAttributes = (heartbeat: Heartbeat, expiresAt: Instant): Item =>
  defined({
    v: itemVersion,
    a: number(heartbeat.at),
    r: number(heartbeat.resends),
    d: heartbeat.deliveries === undefined ? undefined : packed(heartbeat.deliveries),
    t: heartbeat.attempt === undefined ? undefined : number(heartbeat.attempt),
    [runsTableKeys.expiry]: expiry(expiresAt),
  });
export const heartbeatIn = (item: Item): Heartbeat => {
  const { sk, a, r, d, t } = read('a heartbeat', heartbeatItem, item);
  const known = d === undefined ? {} : { deliveries: readJson('a heartbeat', deliveries, unpack('a heartbeat', d)) };
  return defined({ node: sk, at: a, resends: r, ...known, attempt: t });
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
