/** Signals and waiters as items of the control table. */
import * as z from 'zod';
import { attempt, instant, iterationKey, nodeId, runId, signalId } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { exactly } from '../codec/exact.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { Instant } from '../engine/time.ts';
import type { StoredSignal, NewSignal, Waiter } from '../ports/signals.ts';
import {
  type Item,
  expiry,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  text,
  textAttribute,
} from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';

const storedWaiter = exactly<Waiter>()(z.strictObject({ runId, nodeId, iteration: iterationKey, attempt, since: instant }));

export const waiterAttributes = (waiter: Waiter, retainUntil: Instant): Item => ({
  v: itemVersion,
  waiter: packed(waiter),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const waiterItem = z.object({ v: itemVersionAttribute, waiter: packedAttribute });
export const isWaiter = (item: Item): boolean => 'waiter' in item;
export const waiterIn = (item: Item): Waiter => {
  const { waiter } = read('a waiter', waiterItem, item);
  return readJson('a waiter', storedWaiter, unpack('a waiter', waiter));
};

export const signalAttributes = ({ signalId: id, receivedAt, bufferedUntil, retainUntil }: NewSignal): Item => ({
  v: itemVersion,
  signalId: text(id),
  receivedAt: number(receivedAt),
  bufferedUntil: number(bufferedUntil),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const signalItem = z.object({
  v: itemVersionAttribute,
  signalId: textAttribute.pipe(signalId),
  receivedAt: instantAttribute,
  bufferedUntil: instantAttribute,
  claimer: packedAttribute.exactOptional(),
  takenBy: textAttribute.exactOptional(),
});

export const signalIn = (item: Item): StoredSignal => {
  const { v: _v, claimer, takenBy, ...signal } = read('a signal', signalItem, item);
  if (takenBy !== undefined) return { ...signal, state: 'taken' };
  if (claimer === undefined) return { ...signal, state: 'free' };
  return {
    ...signal,
    state: 'claimed',
    by: readJson('the claimer of a signal', storedWaiter, unpack('the claimer of a signal', claimer)),
  };
};

export const payloadItem = z.object({ v: itemVersionAttribute, payload: packedAttribute });
export const deliveryItem = z.object({ delivered: numberAttribute });
