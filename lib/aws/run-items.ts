/** Items of a run beside its head: commits, attachments, heartbeats, the snapshot. */
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { runEvent, jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import * as schema from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { BegunDelivery, Deliveries, LostDelivery } from '../engine/log/deliveries.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';
import type { Snapshot } from '../ports/run-log.ts';
import {
  type Item,
  expiry,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  text,
  textAttribute,
  itemVersion,
  itemVersionAttribute,
  instantAttribute,
} from './item-schema.ts';
import { commitNumberIn, nodeIn } from './run-keys.ts';

/** Attribute names are short, because every write is billed by size. */
const eventList = z.array(runEvent).readonly();

/** Commit 1 is part of the head, with the same attributes. */
export const commitShape = {
  v: itemVersionAttribute,
  e: packedAttribute,
  f: numberAttribute.pipe(schema.eventId),
  a: numberAttribute.pipe(schema.instant),
  b: textAttribute,
  n: textAttribute.pipe(schema.nonce),
};
const commitItem = z.object({ ...commitShape, sk: textAttribute.transform(commitNumberIn).pipe(schema.commitNo) });

export const commitAttributes = (commit: Commit): Item => ({
  v: itemVersion,
  e: packed(commit.events),
  f: number(commit.firstEventId),
  a: number(commit.at),
  b: text(commit.by),
  n: text(commit.nonce),
});

export const logAttributes = (commit: Commit, expiresAt: Instant): Item => ({
  ...commitAttributes(commit),
  [runsTableKeys.expiry]: expiry(expiresAt),
});

type CommitParts = Omit<z.output<typeof commitItem>, 'sk' | 'v'>;
export const commitOf = (number: Commit['number'], { e, f, a, b, n }: CommitParts): Commit => ({
  number,
  firstEventId: f,
  events: readJson('a commit', eventList, unpack('a commit', e)),
  at: a,
  by: b,
  nonce: n,
});

export const commitIn = (item: Item): Commit => {
  const { sk, ...parts } = read('a commit', commitItem, item);
  return commitOf(sk, parts);
};

/** The nonce of the put that wrote the item. */
export const nonceIn = (item: Item): Commit['nonce'] => read('a commit', z.object({ n: commitShape.n }), item).n;

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
