/** Named definitions with immutable versions, numbered from 1. Publishing a version can restore an archived name. */
import type { Deletions } from './deletions.ts';
import type { Drafts } from './drafts.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Scope } from '../engine/ids.ts';
import type { QueryKind, QueryVersion } from '../engine/query/definition.ts';
import type { Instant } from '../engine/time.ts';
import type { LensVersion } from './lenses.ts';

export interface Numbered {
  readonly name: string;
  readonly version: number;
}

/** The record of a name. `Facts` describe the latest version beside its number. */
export type Summary<Version extends Numbered, Facts extends object = object> = Facts & {
  readonly name: Version['name'];
  readonly latestVersion: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly archivedAt?: Instant;
  /** the name is being deleted and accepts no versions and no runs */
  readonly deletingSince?: Instant;
  /** lower versions belong to a deleted definition of the same name; absent: 1 */
  readonly firstVersion?: number;
};

/** The version that becomes the latest of its name. */
export type Advance<Version extends Numbered, Facts extends object = object> = Pick<Version, 'name' | 'version'> & Facts;

/** Who published a version, and what they say about it. Versions from before this was recorded have neither. */
export interface Authorship {
  /** `key:<keyId>`, or the subject of a session */
  readonly createdBy?: string;
  readonly note?: string;
}

/** A version without its definition. */
export interface VersionRecord extends Authorship {
  readonly version: number;
  readonly createdAt: Instant;
}

export interface VersionPage {
  readonly versions: readonly VersionRecord[];
  /** more versions follow below this one; absent on the last page */
  readonly next?: number;
}

export interface SummaryPage<Version extends Numbered, Facts extends object = object> {
  readonly summaries: readonly Summary<Version, Facts>[];
  /** the cursor of the next page; absent on the last page */
  readonly next?: Version['name'];
}

export interface SummaryFilter<Name extends string> {
  readonly limit: number;
  readonly after?: Name;
  readonly archived: boolean;
  /** only names that begin with this text, which has only characters of names */
  readonly prefix?: string;
}

export interface AdvanceOptions {
  readonly shouldUnarchive: boolean;
}

export interface VersionStore<Version extends Numbered, Facts extends object = object> {
  /** Writes the version if it does not exist. */
  putVersion(scope: Scope, version: Version, at: Instant, authorship?: Authorship): Promise<'stored' | 'occupied'>;
  version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined>;
  /** All stored versions below `before`, newest first, also those that the summary does not include. Strongly consistent. */
  versions(scope: Scope, name: Version['name'], page: { readonly limit: number; readonly before?: number }): Promise<VersionPage>;
  /**
   * Sets the latest version of the name if the summary has an older one or does not exist. With `shouldUnarchive` the same
   * write also restores an archived name. A name that is being deleted, or is freed, does not change. Returns whether the
   * summary changed.
   */
  advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, options?: AdvanceOptions): Promise<boolean>;
  /** Strongly consistent. */
  summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined>;
  /** By name, ascending; with archived ones only if the filter says so. */
  list(scope: Scope, filter: SummaryFilter<Version['name']>): Promise<SummaryPage<Version, Facts>>;
  /** False if the name does not exist. Archiving again does not change `archivedAt`. */
  archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean>;
}

/**
 * Deletes a name with all its versions. The numbers of deleted versions are never reused, so a run or a cache that refers
 * to one of them can never refer to a version that is published later.
 */
export interface DeletableNames<Version extends Numbered, Facts extends object = object> {
  /**
   * Stops publications under the name. False if the name does not exist or has another latest version. Closing again does
   * not change `deletingSince`.
   */
  close(scope: Scope, latest: Pick<Version, 'name' | 'version'>, at: Instant): Promise<boolean>;
  /** Frees the name that was closed at this version. Its summary disappears; only the last version number remains. */
  free(scope: Scope, latest: Pick<Version, 'name' | 'version'>): Promise<void>;
  /** The last version number of a freed name; undefined for any other name. */
  freedAfter(scope: Scope, name: Version['name']): Promise<number | undefined>;
  /** Raises the last version number of a freed name. False if the name is not freed or its number is not lower. */
  skipTo(scope: Scope, name: Version['name'], number: number): Promise<boolean>;
  /** Publishes this version under a freed name if its number is above the name's last; else false. */
  reopen(scope: Scope, to: Advance<Version, Facts>, at: Instant): Promise<boolean>;
  /** The numbers of all stored versions, ascending, also of those that no summary includes. */
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

export interface DefinitionPorts {
  readonly workflows: Workflows;
  readonly lenses: Lenses;
  readonly queries: Queries;
  readonly deletions: Deletions;
  readonly drafts: Drafts;
}
