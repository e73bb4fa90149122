/** Schemas of the health response, the OpenAPI response and every error. */
import * as z from 'zod';
import { errorCodes } from '../errors.ts';
import { jsonObject, utcTimestamp } from './parts.ts';

export const healthResponse = z.strictObject({ healthy: z.literal(true), timestamp: utcTimestamp });
export const openApiResponse = jsonObject;

export const errorResponse = z
  .strictObject({
    code: z.enum(errorCodes),
    message: z.string(),
    required: z.string().exactOptional().meta({ description: 'the scope that is missing' }),
    recovery: z.string().exactOptional(),
    correlationId: z.string(),
    retryAfter: z.number().exactOptional().meta({ description: 'seconds after which the request may succeed' }),
    current: z
      .strictObject({
        revision: z.int().exactOptional().meta({ description: 'the revision of the draft; 0: there is none' }),
        version: z.int().nullable().exactOptional().meta({ description: 'the newest version; null: there is none' }),
        at: utcTimestamp.exactOptional(),
        by: z.string().exactOptional(),
      })
      .exactOptional()
      .meta({ description: 'of draft_conflict and version_conflict: what the request conflicts with' }),
    errors: z
      .array(
        z.strictObject({
          severity: z.enum(['error', 'warning']).exactOptional(),
          pointer: z.string(),
          code: z.string(),
          message: z.string(),
        }),
      )
      .readonly()
      .exactOptional(),
  })
  .meta({ id: 'Error' });
