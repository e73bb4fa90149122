/** Places of workflows in the control table: one partition for each workflow, with an item for each place taken and each run that waits. */
import * as z from 'zod';
import { runId as storedRunId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { RunId } from '../engine/ids.ts';
import type { PlacesOf, TakenPlace, WaitingRun } from '../engine/places.ts';
import type { Instant } from '../engine/time.ts';
import type { Places } from '../ports/places.ts';
import { type Item, expiry, instantAttribute, number, numberAttribute, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { creationSort, scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, firstOf, isFree, isThere } from './table.ts';

const partition = (of: PlacesOf): string => partitionOf('places', scopeKey(of), of.workflowName);

/** Four digits: there are at most a thousand places. */
const digits = 4;
const takenPrefix = 'taken#';
const takenKey = (of: PlacesOf, place: number): Key => ({
  pk: partition(of),
  sk: `${takenPrefix}${String(place).padStart(digits, '0')}`,
});
const waitingPrefix = 'waits#';
/** The sort keys are in the order in which runs are let in. */
const waitingKey = (of: PlacesOf, { runId, since }: Pick<WaitingRun, 'runId' | 'since'>): Key => ({
  pk: partition(of),
  sk: `${waitingPrefix}${creationSort(since, runId)}`,
});

const isOf = (runId: RunId): Expression => ({ expression: 'runId = :run', values: { ':run': text(runId) } });

export class DynamoPlaces implements Places {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async taken(of: PlacesOf): Promise<readonly TakenPlace[]> {
    return (await allOf(this.#itemsOf(of, takenPrefix))).map(takenIn);
  }

  async take(of: PlacesOf, place: number, runId: RunId, expiresAt: Instant): Promise<boolean> {
    const attributes = { v: itemVersion, runId: text(runId), place: number(place), [controlTableKeys.expiry]: expiry(expiresAt) };
    const put = await this.#table.put(takenKey(of, place), attributes, isFree);
    return put.kind === 'stored' || takenIn(put.standing).runId === runId;
  }

  free(of: PlacesOf, place: number, runId: RunId): Promise<void> {
    return this.#table.delete(takenKey(of, place), isOf(runId));
  }

  async waiting(of: PlacesOf, limit: number): Promise<readonly WaitingRun[]> {
    return (await firstOf(this.#itemsOf(of, waitingPrefix, limit), limit)).map(waitingIn);
  }

  async enter(of: PlacesOf, run: WaitingRun, expiresAt: Instant): Promise<void> {
    await this.#table.put(waitingKey(of, run), {
      v: itemVersion,
      runId: text(run.runId),
      since: number(run.since),
      places: number(run.places),
      [controlTableKeys.expiry]: expiry(expiresAt),
    });
  }

  leave(of: PlacesOf, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void> {
    return this.#table.delete(waitingKey(of, run), isThere);
  }

  #itemsOf(of: PlacesOf, prefix: string, limit?: number): AsyncGenerator<Item> {
    return this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':pk': text(partition(of)), ':prefix': text(prefix) },
      ...(limit === undefined ? {} : { Limit: limit }),
    });
  }
}

const runId = textAttribute.pipe(storedRunId);
const takenItem = z.object({ v: itemVersionAttribute, runId, place: numberAttribute });
const takenIn = (item: Item): TakenPlace => {
  const { v: _v, ...taken } = read('a place of a workflow', takenItem, item);
  return taken;
};

const waitingItem = z.object({ v: itemVersionAttribute, runId, since: instantAttribute, places: numberAttribute });
const waitingIn = (item: Item): WaitingRun => {
  const { v: _v, ...run } = read('a run that waits for a place', waitingItem, item);
  return run;
};
