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
  /** the name is being deleted: it takes no versions and no runs */
  readonly deletingSince?: Instant;
  /** versions below it belong to a name that was deleted; absent: 1 */
  readonly firstVersion?: number;
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

export interface AdvanceOptions {
  readonly shouldUnarchive: boolean;
}

export interface VersionStore<Version extends Numbered, Facts extends object = object> {
  /** Writes the version on the condition that it does not exist yet. */
  putVersion(scope: Scope, version: Version, at: Instant): Promise<'stored' | 'occupied'>;
  version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined>;
  /**
   * Moves the summary to this version, on the condition that it names an older one or none; otherwise changes nothing. With
   * `unarchives` the name is archived no longer, in the same write; without it, an archived name stays archived. A name that is
   * being deleted, or was, is not moved. Says whether it was.
   */
  advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, options?: AdvanceOptions): Promise<boolean>;
  /** Read strongly. */
  summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined>;
  /** By name, ascending; archived ones only when asked for. */
  list(scope: Scope, filter: SummaryFilter<Version['name']>): Promise<SummaryPage<Version, Facts>>;
  /** `false` where there is nothing of that name. Archiving an archived name keeps its time. */
  archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean>;
}

/**
 * Deleting a name with all its versions. The numbers of deleted versions are never used again: what was pinned to one of them, or
 * remembers its graph, can therefore never mean a version that is published later.
 */
export interface DeletableNames<Version extends Numbered, Facts extends object = object> {
  /**
   * From now on no version is added. `false` where there is no such name, or its latest version is another. Closing a closed name
   * keeps its time.
   */
  close(scope: Scope, latest: Pick<Version, 'name' | 'version'>, at: Instant): Promise<boolean>;
  /** Ends the name that was closed at this version: it has no summary any more, and what remains is the number. */
  free(scope: Scope, latest: Pick<Version, 'name' | 'version'>): Promise<void>;
  /** The number that the versions of a freed name ended with; undefined for any other name. */
  freedAfter(scope: Scope, name: Version['name']): Promise<number | undefined>;
  /** The freed name shall not continue below this number. `false` where it is not free, or has come as far. */
  skipTo(scope: Scope, name: Version['name'], number: number): Promise<boolean>;
  /** Opens a freed name with this version, on the condition that its number is above all that the name had; else `false`. */
  reopen(scope: Scope, to: Advance<Version, Facts>, at: Instant): Promise<boolean>;
  /** Of every version that is stored, ascending, whether or not a summary knows of it. */
  versionNumbers(scope: Scope, name: Version['name']): Promise<readonly number[]>;
  removeVersion(scope: Scope, name: Version['name'], version: number): Promise<void>;
}

export type Workflows = VersionStore<WorkflowVersion> & DeletableNames<WorkflowVersion>;
export type WorkflowSummary = Summary<WorkflowVersion>;

export type Lenses = VersionStore<LensVersion>;
export type LensSummary = Summary<LensVersion>;

export type QueryFacts = { readonly kind: QueryKind };
export type Queries = VersionStore<QueryVersion, QueryFacts>;
export type QuerySummary = Summary<QueryVersion, QueryFacts>;
