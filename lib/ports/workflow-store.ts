/** Published workflow versions: immutable, numbered from 1, archived but never lost. */
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Instant } from '../engine/time.ts';

export interface WorkflowSummary {
  readonly name: WorkflowName;
  readonly latestVersion: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly archivedAt?: Instant;
}

export interface WorkflowStore {
  /** Writes the version on the condition that it does not exist yet. */
  putVersion(scope: Scope, version: WorkflowVersion, at: Instant): Promise<'stored' | 'occupied'>;
  version(scope: Scope, name: WorkflowName, version: number): Promise<WorkflowVersion | undefined>;
  /** Moves the summary to this version, on the condition that it names an older one or none; otherwise changes nothing. */
  advance(scope: Scope, name: WorkflowName, version: number, at: Instant): Promise<void>;
  /** Read strongly. */
  summary(scope: Scope, name: WorkflowName): Promise<WorkflowSummary | undefined>;
  /** By name, ascending; archived ones only when asked for. */
  list(
    scope: Scope,
    options: { readonly limit: number; readonly after?: WorkflowName; readonly archived: boolean },
  ): Promise<{ readonly workflows: readonly WorkflowSummary[]; readonly next?: WorkflowName }>;
  /** `false` where there is no such workflow. Archiving twice keeps the first time. */
  archive(scope: Scope, name: WorkflowName, at: Instant): Promise<boolean>;
}
