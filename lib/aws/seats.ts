/** Seats of readers in the control table, under a digest: a reader's name is anybody's text, and may be a person's. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { nonce } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Reader, Seats } from '../ports/seats.ts';
import { expiry, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import type { Key, Table } from './table.ts';

/** No project id holds a `~`, so this is nobody's partition. */
const seatKey = ({ run, keyId, name }: Reader): Key => {
  const reader = JSON.stringify([run.projectId, run.environment, run.runId, keyId, name]);
  return { pk: `~seat#${createHash('sha256').update(reader).digest('hex')}`, sk: 'seat' };
};

export class DynamoSeats implements Seats {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async give(reader: Reader, stream: Nonce, forgetAt: Instant): Promise<void> {
    const item = { v: itemVersion, stream: text(stream), [controlTableKeys.expiry]: expiry(forgetAt) };
    await this.#table.put(seatKey(reader), item);
  }

  async holder(reader: Reader): Promise<Nonce | undefined> {
    const item = await this.#table.get(seatKey(reader));
    return item && read('a seat', seatItem, item).stream;
  }
}

const seatItem = z.object({ v: itemVersionAttribute, stream: textAttribute.pipe(nonce) });
