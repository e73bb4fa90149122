/** What is published under a name, in versions: each is immutable and numbered from 1. An archived name opens again with its next version. */
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Scope } from '../engine/ids.ts';
import type { QueryKind, QueryVersion } from '../engine/query/definition.ts';
import type { Instant } from '../engine/time.ts';
import type { LensVersion } from './lenses.ts';

export interface Numbered {
  readonly name: string;
  readonly version: number;
}

/** `Facts` are what it tells of the latest version besides its number. */
export type Summary<Version extends Numbered, Facts extends object = object> = Facts & {
  readonly name: Version['name'];
  readonly latestVersion: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly archivedAt?: Instant;
};

/** The version that a summary moves to. */
export type Advance<Version extends Numbered, Facts extends object = object> = Pick<Version, 'name' | 'version'> & Facts;

export interface SummaryPage<Version extends Numbered, Facts extends object = object> {
  readonly summaries: readonly Summary<Version, Facts>[];
  /** the name after which the listing goes on; absent at its end */
  readonly next?: Version['name'];
}

export interface SummaryFilter<Name extends string> {
  readonly limit: number;
  readonly after?: Name;
  readonly archived: boolean;
}

export interface VersionStore<Version extends Numbered, Facts extends object = object> {
  /** Writes the version on the condition that it does not exist yet. */
  putVersion(scope: Scope, version: Version, at: Instant): Promise<'stored' | 'occupied'>;
  version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined>;
  /**
   * Moves the summary to this version, on the condition that it names an older one or none; otherwise changes nothing. With
   * `unarchives` the name is archived no longer, in the same write; without it, an archived name stays archived.
   */
  advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, how?: { readonly unarchives: boolean }): Promise<void>;
  /** Read strongly. */
  summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined>;
  /** By name, ascending; archived ones only when asked for. */
  list(scope: Scope, filter: SummaryFilter<Version['name']>): Promise<SummaryPage<Version, Facts>>;
  /** `false` where there is nothing of that name. Archiving an archived name keeps its time. */
  archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean>;
}

export type Workflows = VersionStore<WorkflowVersion>;
export type WorkflowSummary = Summary<WorkflowVersion>;

export type Lenses = VersionStore<LensVersion>;
export type LensSummary = Summary<LensVersion>;

export type QueryFacts = { readonly kind: QueryKind };
export type Queries = VersionStore<QueryVersion, QueryFacts>;
export type QuerySummary = Summary<QueryVersion, QueryFacts>;
