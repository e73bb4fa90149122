/** Published queries: versions are immutable and numbered from 1; archived ones are never lost. */
import type { QueryName, Scope } from '../engine/ids.ts';
import type { QueryKind, QueryVersion } from '../engine/query/definition.ts';
import type { Instant } from '../engine/time.ts';

export interface QuerySummary {
  readonly name: QueryName;
  /** of the latest version */
  readonly kind: QueryKind;
  readonly latestVersion: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly archivedAt?: Instant;
}

export interface Queries {
  /** Writes the version on the condition that it does not exist yet. */
  putVersion(scope: Scope, query: QueryVersion, at: Instant): Promise<'stored' | 'occupied'>;
  version(scope: Scope, name: QueryName, version: number): Promise<QueryVersion | undefined>;
  /** Moves the summary to this version, on the condition that it names an older one or none; otherwise changes nothing. */
  advance(scope: Scope, query: Pick<QueryVersion, 'name' | 'kind' | 'version'>, at: Instant): Promise<void>;
  /** Read strongly. */
  summary(scope: Scope, name: QueryName): Promise<QuerySummary | undefined>;
  /** By name, ascending; archived ones only when asked for. */
  list(
    scope: Scope,
    options: { readonly limit: number; readonly after?: QueryName; readonly archived: boolean },
  ): Promise<{ readonly queries: readonly QuerySummary[]; readonly next?: QueryName }>;
  /** `false` where there is no such query. Archiving twice keeps the first time. */
  archive(scope: Scope, name: QueryName, at: Instant): Promise<boolean>;
}
