/** The item of a commit. Attribute names are short, because every write is billed by size. */
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { runEvent } from '../codec/events.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Instant } from '../engine/time.ts';
import { type Item, expiry, number, numberAttribute, packed, packedAttribute, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { commitNumberIn } from './run-keys.ts';

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
