/** Items of a run beside its head: commits, attachments, heartbeats, the snapshot. */
import * as z from 'zod';
import { runEvent, jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import * as schema from '../codec/ids.ts';
import { secondCommit } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { BegunDelivery, Deliveries, LostDelivery } from '../engine/log/deliveries.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import {
  type Item,
  anyString,
  anyNumber,
  anyInstant,
  stringOf,
  numberOf,
  jsonOf,
  optional,
  named,
  keyPart,
  itemSchema,
  number,
  partSchema,
} from './item-schema.ts';
import { commitNumberIn, nodeIn } from './run-keys.ts';
import { type Expression, ifNotExists } from './table.ts';

/** Attribute names are short, because every write is billed by size. */
const commitNonce = named('n', stringOf(schema.nonce));
const slotAttributes = {
  number: keyPart('sk', z.string().transform(commitNumberIn).pipe(schema.commitNo)),
  firstEventId: named('f', numberOf(schema.eventId)),
  at: named('a', anyInstant),
};
/** Commit 1 is part of the head, with the same attributes except the number. */
export const commitAttributes = {
  firstEventId: slotAttributes.firstEventId,
  events: named('e', jsonOf(z.array(runEvent).readonly())),
  at: slotAttributes.at,
  by: named('b', anyString),
  nonce: commitNonce,
};
export const commitItem = itemSchema('a commit', { number: slotAttributes.number, ...commitAttributes });
/** Of a head that holds commit 2, and of its tombstone if the run had that commit. */
export const holdsSecondCommitName = 's2';
/** Commit 2 as a part of the head. A head without these attributes does not have it. */
export const secondCommitNames = { firstEventId: 'f2', events: 'e2', at: 'a2', by: 'b2', nonce: 'n2' } as const;
export const secondCommitPart = partSchema('commit 2 in a head', {
  firstEventId: named(secondCommitNames.firstEventId, commitAttributes.firstEventId),
  events: named(secondCommitNames.events, commitAttributes.events),
  at: named(secondCommitNames.at, commitAttributes.at),
  by: named(secondCommitNames.by, commitAttributes.by),
  nonce: named(secondCommitNames.nonce, commitAttributes.nonce),
});
/** Commit 2 in the item of a head, or in its tombstone; undefined: the item does not have it. */
export const secondCommitIn = (head: Item): Commit | undefined =>
  secondCommitNames.nonce in head ? { number: secondCommit, ...secondCommitPart.decode(head) } : undefined;
/** The head holds commit 2 and does not have it yet. */
export const ifSecondCommitIsFree: Expression = {
  expression: 'attribute_exists(#holds) AND attribute_not_exists(#nonce2)',
  names: { '#holds': holdsSecondCommitName, '#nonce2': secondCommitNames.nonce },
};
/** A commit without its events. */
export const commitSlot = partSchema('a commit', slotAttributes);

const nonceItem = partSchema('a commit', { nonce: commitNonce });
/** The nonce of the put that wrote the item. */
export const nonceIn = (item: Item): Commit['nonce'] => nonceItem.decode(item).nonce;

export const attachmentItem = itemSchema('an attachment', { value: named('j', jsonOf(jsonValue)) });

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

/** They identify a stored heartbeat of a node: each write changes one of them. */
const heartbeatIdentity = { '#at': 'a', '#resends': 'r' } as const;

export const heartbeatItem = itemSchema('a heartbeat', {
  node: keyPart('sk', z.string().transform(nodeIn).pipe(schema.nodeKey)),
  at: named(heartbeatIdentity['#at'], anyInstant),
  resends: named(heartbeatIdentity['#resends'], anyNumber),
  deliveries: named('d', optional(jsonOf(deliveries))),
  attempt: named('t', optional(numberOf(schema.attempt))),
  startedAt: named('b', optional(anyInstant)),
});

/** The stored heartbeat of the node is the one that was read; undefined: there is none. */
export const ifHeartbeatIs = (read: Heartbeat | undefined): Expression =>
  read === undefined
    ? ifNotExists
    : {
        expression: '#at = :at AND #resends = :resends',
        names: heartbeatIdentity,
        values: { ':at': number(read.at), ':resends': number(read.resends) },
      };

export const snapshotItem = itemSchema('a snapshot', {
  asOf: numberOf(schema.commitNo),
  schema: named('s', anyNumber),
  state: named('j', jsonOf(jsonValue)),
});
