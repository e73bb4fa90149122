/** Values of a config that are looked up when the node runs. */
import * as z from 'zod';
import type { JsonValue } from '../engine/json.ts';

/** Anything that can be stored; templates may stand anywhere in it. */
export const jsonValue: z.ZodType<JsonValue> = z.json();

/** A text that must look something up, because a fixed one would be a mistake. */
export const lookUpText = z
  .string()
  .max(65_536)
  .refine((text) => text.includes('{{'), 'must look a value up, such as {{ctx.input.orderId}}');
