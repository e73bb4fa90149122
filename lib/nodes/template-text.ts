/** Schemas of config values that are resolved when the node runs. */
import * as z from 'zod';
import type { JsonValue } from '../engine/json.ts';

/** Any JSON value; it may contain templates. */
export const jsonValue: z.ZodType<JsonValue> = z.json();

/** A string that must contain a template, because a constant would be a mistake. */
export const lookUpText = z
  .string()
  .max(65_536)
  .refine((text) => text.includes('{{'), 'must contain a template, such as {{ctx.input.orderId}}');
