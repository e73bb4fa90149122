/** Request counters in the control table. */
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { KeyId } from '../engine/ids.ts';
import { type Instant, after, hours, iso } from '../engine/time.ts';
import type { RateLane, RateWindows } from '../ports/control.ts';
import { expiry, number, numberAttribute } from './item-schema.ts';
import type { Table } from './table.ts';

/** Longer than any window, so that a counter expires only after its window. */
const windowRetentionMs = hours(1);

/** One item for each API key and window. */
export class DynamoRateWindows implements RateWindows {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async take(keyId: KeyId, windowStart: Instant, count: number, lane?: RateLane): Promise<number> {
    const changed = await this.#table.update(
      { pk: partitionOf('rate', keyId), sk: lane === undefined ? iso(windowStart) : `${iso(windowStart)}#${lane}` },
      {
        expression: 'ADD taken :count SET #expiry = :expiry',
        names: { '#expiry': controlTableKeys.expiry },
        values: { ':count': number(count), ':expiry': expiry(after(windowStart, windowRetentionMs)) },
      },
    );
    return read('a rate window', numberAttribute, changed?.['taken']);
  }
}
