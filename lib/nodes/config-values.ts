/** The values in the config of a node: their schemas, findings about them, and their form in an error message. */
import * as z from 'zod';
import { type FindingCode, findingCodes } from '../engine/graph/findings.ts';
import { type JsonValue, isJsonArray } from '../engine/json.ts';

/** Any JSON value; it may contain templates. */
export const jsonValue: z.ZodType<JsonValue> = z.json();

/**
 * A string that must contain a template, because a constant would be a mistake.
 * @param elsewhere where a constant belongs, as the end of the error message
 */
export const lookUpText = (elsewhere = '') =>
  z
    .string()
    .max(65_536)
    .refine((text) => text.includes('{{'), `must contain a template, such as {{ctx.input.orderId}}${elsewhere}`);

/** A finding in the config of a node. The path is relative to the config, because a node type does not know the node's position. */
export interface ConfigFinding {
  readonly code: FindingCode;
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const isError = ({ code }: ConfigFinding): boolean => findingCodes[code] === 'error';

const maxLength = 100;

/** Formats a value for an error message: cut short, without serializing large values. */
export function shownValue(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxLength).toWellFormed()).slice(0, maxLength);
  if (isJsonArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? `an object with ${Object.keys(value).length} keys` : String(value);
}
