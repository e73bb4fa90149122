/** The tag that names an uploaded value in a request of the World: `{ "$stored": { "sha256": "…", "bytes": 5 } }`. */
import * as z from 'zod';
import type { JsonValue } from '../engine/json.ts';
import type { UploadedContent } from '../ports/uploads.ts';

const storedTag = z.strictObject({
  $stored: z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().min(1) }),
});

/** @returns undefined if the value is no such tag */
export const uploadNamedBy = (value: JsonValue | undefined): UploadedContent | undefined =>
  storedTag.safeParse(value).data?.$stored;
