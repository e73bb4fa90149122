/** What is published in versions, as answers show it. */
import { defined } from '../../../lib/engine/defined.ts';
import type { Finding } from '../../../lib/engine/graph/definition.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Numbered, Summary } from '../../../lib/ports/versions.ts';
import type { Published } from '../../../lib/service/definitions/publish-version.ts';
import { times } from './times.ts';

export const summaryOf = ({ name, latestVersion, createdAt, updatedAt, archivedAt }: Summary<Numbered>) => ({
  name,
  latestVersion,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
  ...times({ archivedAt }),
});

/** What every publication is answered with. */
export const publicationIn = (name: string, { version, createdAt, unarchived }: Published) =>
  defined({
    name,
    version,
    createdAt: iso(createdAt),
    unarchived,
  });

export const publishedOf = (name: string, published: Published & { readonly warnings: readonly Finding[] }) => ({
  ...publicationIn(name, published),
  warnings: published.warnings,
});
