/** Shared operations of workflows, lenses and queries, which are all published in versions. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { OperationId } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { Finding } from '../../../lib/engine/graph/definition.ts';
import type { Scope } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Clock } from '../../../lib/ports/clock.ts';
import type { Numbered, Summary, SummaryFilter, VersionStore } from '../../../lib/ports/versions.ts';
import { archiveName } from '../../../lib/service/definitions/archive-name.ts';
import { getVersion } from '../../../lib/service/definitions/get-version.ts';
import type { Published } from '../../../lib/service/definitions/publish-version.ts';
import type { AuditNote } from '../caller.ts';
import { type Refusal, refuse, times } from '../operation.ts';

type ResourceKind = 'workflow' | 'lens' | 'query';

interface VersionedResource<Kind extends ResourceKind, Version extends Numbered, Facts extends object> {
  readonly resourceKind: Kind;
  readonly store: VersionStore<Version, Facts>;
  /** schema of a name in a cursor */
  readonly name: z.ZodType<Version['name']>;
  readonly clock: Clock;
}

/** Gets one version of the resource in the path. */
export async function getVersioned<Kind extends ResourceKind, Version extends Numbered, Facts extends object, Body>(
  { resourceKind, store }: VersionedResource<Kind, Version, Facts>,
  { scope, params: { name }, query: { version } }: NamedRequest<Version> & { readonly query: { readonly version?: number } },
  bodyOf: (summary: Summary<Version, Facts>, version: Version) => Body | Promise<Body>,
): Promise<{ readonly status: 200; readonly body: Body } | Refusal<`${Kind}_not_found` | 'not_found'>> {
  const result = await getVersion(store, scope, name, version);
  switch (result.kind) {
    case 'found':
      return { status: 200, body: await bodyOf(result.summary, result.version) };
    case 'not_found':
      return refuse(`${resourceKind}_not_found` as const);
    case 'version_not_found':
      return refuse('not_found', { message: `${name} has no version ${version}.` });
  }
}

/**
 * Lists summaries, ordered by name, in pages.
 * @param rowsOf the rows of a page, in its order; fewer than the summaries end the page early
 */
export async function listVersioned<Kind extends ResourceKind, Version extends Numbered, Facts extends object, Row>(
  { store, name }: VersionedResource<Kind, Version, Facts>,
  operationId: OperationId,
  { scope, query }: { readonly scope: Scope; readonly query: Omit<SummaryFilter<never>, 'after'> & { readonly cursor?: string } },
  rowsOf: (summaries: readonly Summary<Version, Facts>[]) => readonly Row[] | Promise<readonly Row[]>,
) {
  const { cursor, limit, ...filters } = query;
  const listing = { operationId, scope, filters };
  const after = cursor === undefined ? undefined : decodeCursor(listing, z.strictObject({ name }), cursor);
  if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
  const found = await store.list(scope, { limit, ...filters, ...(after !== undefined && { after: after.name }) });
  const data = await rowsOf(found.summaries);
  const last = data.length < found.summaries.length ? found.summaries[data.length - 1]?.name : found.next;
  const next = last === undefined ? null : encodeCursor(listing, { name: last });
  return { status: 200 as const, body: { data, cursor: next, hasMore: next !== null } };
}

/** Archives the resource in the path. */
export async function archiveVersioned<Kind extends ResourceKind, Version extends Numbered, Facts extends object>(
  { resourceKind, store, clock }: VersionedResource<Kind, Version, Facts>,
  { scope, params: { name } }: NamedRequest<Version>,
) {
  const audit = { resource: `${resourceKind}/${name}` };
  const result = await archiveName({ store, clock }, scope, name);
  if (result.kind === 'not_found') return { ...refuse(`${resourceKind}_not_found` as const), audit };
  return { status: 200 as const, body: { name, archivedAt: iso(result.archivedAt) }, audit };
}

/** Adds to the audit trail that a publication has unarchived the name. */
export const publicationOf = (audit: AuditNote, { version, unarchived }: Published): AuditNote =>
  unarchived === undefined ? audit : { ...audit, facts: { version, unarchived } };

interface NamedRequest<Version extends Numbered> {
  readonly scope: Scope;
  readonly params: { readonly name: Version['name'] };
}

/** A name in the body must equal the name in the path. */
export const nameDiffers = (resourceKind: ResourceKind, name: string) => {
  const message = `the path names the ${resourceKind} ${name}`;
  return {
    ...refuse('invalid_request', { errors: [{ pointer: '/name', code: 'name_differs', message }] }),
    audit: { resource: `${resourceKind}/${name}` },
  };
};

export const summaryOf = ({ name, latestVersion, createdAt, updatedAt, archivedAt }: Summary<Numbered>) => ({
  name,
  latestVersion,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
  ...times({ archivedAt }),
});

/** The common response of every publication. */
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
