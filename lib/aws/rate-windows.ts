/** Request counters in the control table: one item for each API key and window. */
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { KeyId } from '../engine/ids.ts';
import { type Instant, after, hours, iso } from '../engine/time.ts';
import type { RateWindows } from '../ports/control.ts';
import { read } from '../codec/unreadable.ts';
import { expiry, number, numberAttribute } from './attributes.ts';
import type { Table } from './table.ts';

/** Longer than any window, so that a counter expires only after its window. */
const windowRetentionMs = hours(1);

export class DynamoRateWindows implements RateWindows {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async take(keyId: KeyId, windowStart: Instant, count: number): Promise<number> {
    const changed = await this.#table.update(
      { pk: partitionOf('rate', keyId), sk: iso(windowStart) },
      {
        expression: 'ADD taken :count SET #expiry = :expiry',
        names: { '#expiry': controlTableKeys.expiry },
        values: { ':count': number(count), ':expiry': expiry(after(windowStart, windowRetentionMs)) },
      },
    );
    return read('a rate window', numberAttribute, changed?.['taken']);
  }
}
