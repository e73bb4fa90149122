/** What bodies about workflows, lenses and queries have in common: all three are published under a name, in versions. */
import * as z from 'zod';
import { cursor, limit, moment } from './parts.ts';

export const versionQuery = z.strictObject({ version: z.coerce.number().int().min(1).exactOptional() });
export const summariesQuery = z.strictObject({
  limit: limit.default(50),
  cursor: cursor.exactOptional(),
  archived: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
});

export const finding = z
  .strictObject({
    severity: z.enum(['error', 'warning']),
    code: z.string(),
    place: z.string().meta({ description: 'a JSON pointer into the body' }),
    message: z.string(),
  })
  .meta({ id: 'Finding' });

/** What an answer to every publication says. */
export const published = {
  name: z.string(),
  version: z.int(),
  createdAt: moment,
  unarchived: z
    .literal(true)
    .exactOptional()
    .meta({ description: 'the name was archived, and this version has opened it again' }),
};
export const publishedAnswer = z.strictObject({ ...published, warnings: z.array(finding).readonly() });
export const archivedAnswer = z.strictObject({ name: z.string(), archivedAt: moment });

export const summary = {
  name: z.string(),
  latestVersion: z.int(),
  createdAt: moment,
  updatedAt: moment,
  archivedAt: moment.exactOptional(),
};
