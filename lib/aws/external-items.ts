/** Items of external-worker runs. Attribute names are short, because every write is billed by size. */
import * as z from 'zod';
import { instant, nonce, externalRunId } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { externalFacts, storedFacts } from '../codec/external.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { ExternalEntry } from '../engine/external/entry.ts';
import type { Instant } from '../engine/time.ts';
import type { SignalWaiter } from '../ports/external-runs.ts';
import { type Item, expiry, number, numberAttribute, packed, packedAttribute, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { numberIn, waiterPrefix } from './external-keys.ts';

const nonceAttribute = textAttribute.pipe(nonce);
const entryItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.transform(numberIn),
  e: packedAttribute,
  a: numberAttribute.pipe(instant),
  n: nonceAttribute,
});

export const entryAttributes = ({ facts, at, nonce: n }: ExternalEntry, retainUntil: Instant): Item => ({
  v: itemVersion,
  e: packed(storedFacts(facts)),
  a: number(at),
  n: text(n),
  [runsTableKeys.expiry]: expiry(retainUntil),
});

export const entryIn = (item: Item): ExternalEntry => {
  const { sk, e, a, n } = read('a log entry of an external-worker run', entryItem, item);
  const what = 'the facts of an external-worker run';
  return { number: sk, at: a, nonce: n, facts: readJson(what, externalFacts, unpack(what, e)) };
};

export const entryNonceIn = (item: Item): ExternalEntry['nonce'] =>
  read('a log entry of an external-worker run', z.object({ n: nonceAttribute }), item).n;

/** An item with one value, and beside it the attributes of conditions. */
export const valueAttributes = (value: unknown, retainUntil: Instant, conditionAttributes: Item = {}): Item => ({
  v: itemVersion,
  e: packed(value),
  ...conditionAttributes,
  [runsTableKeys.expiry]: expiry(retainUntil),
});

const valueItem = z.object({ v: itemVersionAttribute, e: packedAttribute });
export const valueIn = <Value>(what: string, schema: z.ZodType<Value>, item: Item): Value =>
  readJson(what, schema, unpack(what, read(what, valueItem, item).e));

export const waiterAttributes = ({ since }: SignalWaiter, retainUntil: Instant): Item => ({
  v: itemVersion,
  since: number(since),
  [runsTableKeys.expiry]: expiry(retainUntil),
});

const waiterItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.transform((sort) => sort.slice(waiterPrefix.length)).pipe(externalRunId),
  since: numberAttribute,
});
export const waiterIn = (item: Item): SignalWaiter => {
  const { sk, since } = read('a run that waits for a signal', waiterItem, item);
  return { runId: sk, since };
};
