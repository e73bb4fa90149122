/** Converts values of the Data API to JSON, by the same rules as values of Postgres. The API names types instead of OIDs. */
import type { JsonValue } from '../../engine/json.ts';
import type { Cell } from '../../ports/databases.ts';
import { valueTypes } from './postgres-values.ts';

/** OIDs of the Postgres catalogue (`pg_type.dat`). Other types become strings. */
const oids: ReadonlyMap<string, number> = new Map([
  ['bool', 16],
  ['int8', 20],
  ['bigserial', 20],
  ['int2', 21],
  ['smallserial', 21],
  ['int4', 23],
  ['serial', 23],
  ['oid', 26],
  ['float4', 700],
  ['float8', 701],
  ['json', 114],
  ['jsonb', 3_802],
  ['timestamp', 1_114],
  ['timestamptz', 1_184],
  ['_bool', 1_000],
  ['_int8', 1_016],
  ['_int2', 1_005],
  ['_int4', 1_007],
  ['_float4', 1_021],
  ['_float8', 1_022],
  ['_text', 1_009],
  ['_varchar', 1_015],
  ['_numeric', 1_231],
  ['_uuid', 2_951],
  ['_json', 199],
  ['_jsonb', 3_807],
  ['_timestamp', 1_115],
  ['_timestamptz', 1_185],
]);

/** @param type the database's type name; names of array types start with `_` */
export function jsonOf(cell: Cell, type: string): JsonValue {
  if (cell === null || typeof cell === 'boolean') return cell;
  if (typeof cell === 'string') return textOf(cell, type);
  // The adapter requests strings for numbers that could lose precision. Other numbers must be finite.
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : String(cell);
  if (cell instanceof Uint8Array) return `\\x${Buffer.from(cell).toString('hex')}`;
  return cell.map((each) => jsonOf(each, type.replace(/^_/, '')));
}

const textOf = (text: string, type: string): JsonValue => {
  const oid = oids.get(type);
  return oid === undefined ? text : valueTypes.getTypeParser(oid)(type === 'timestamptz' ? withZone(text) : text);
};

/** The service returns `timestamptz` in UTC and may omit the zone. */
const withZone = (text: string): string => (/(Z|[+-]\d{2}(:?\d{2})?)$/.test(text) ? text : `${text}+00`);
