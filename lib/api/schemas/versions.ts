/** Schemas that workflows, lenses and queries share: each is published under a name, in versions. */
import * as z from 'zod';
import { cursor, limit, page, pageSize, utcTimestamp } from './parts.ts';

export const versionQuery = z.strictObject({ version: z.coerce.number().int().min(1).exactOptional() });
export const summariesQuery = z.strictObject({
  limit: limit.default(pageSize.standard),
  cursor: cursor.exactOptional(),
  archived: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, 'must be the beginning of a name')
    .exactOptional()
    .meta({ description: 'only names that begin with this text' }),
});

export const versionsQuery = z.strictObject({ limit: limit.default(pageSize.standard), cursor: cursor.exactOptional() });
export const versionList = page(
  z
    .strictObject({
      version: z.int(),
      createdAt: utcTimestamp,
      createdBy: z.string().exactOptional().meta({ description: 'key:<keyId>, or the subject of a session' }),
      note: z.string().exactOptional(),
    })
    .meta({ id: 'Version' }),
);

export const finding = z
  .strictObject({
    severity: z.enum(['error', 'warning']),
    code: z.string(),
    pointer: z.string().meta({ description: 'a JSON pointer into the body' }),
    message: z.string(),
  })
  .meta({ id: 'Finding' });

/** Fields of every response to a publication. */
export const publishedFields = {
  name: z.string(),
  version: z.int(),
  createdAt: utcTimestamp,
  unarchived: z
    .literal(true)
    .exactOptional()
    .meta({ description: 'the name was archived; publishing this version unarchived it' }),
};
export const publishedResponse = z.strictObject({ ...publishedFields, warnings: z.array(finding).readonly() });
export const archivedResponse = z.strictObject({ name: z.string(), archivedAt: utcTimestamp });

export const summaryFields = {
  name: z.string(),
  latestVersion: z.int(),
  createdAt: utcTimestamp,
  updatedAt: utcTimestamp,
  archivedAt: utcTimestamp.exactOptional(),
};
