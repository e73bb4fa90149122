/**
 * Starts the deletion of a workflow with all its versions and runs. The request writes the record and closes the name. The sweep does
 * the rest (`continue-deletions.ts`), because thousands of runs take longer than a request may.
 */
import { defined } from '../../base/defined.ts';
import type { KeyId, ScheduleId, Scope, WorkflowName } from '../../engine/ids.ts';
import type { WorkflowDeletion } from '../../ports/deletions.ts';
import type { WorkflowSummary } from '../../ports/versions.ts';
import { closeName } from './close-name.ts';
import type { Deps } from '../deps.ts';

type Needs = Pick<Deps, 'workflows' | 'schedules' | 'deletions' | 'clock'>;

export type DeleteWorkflowResult =
  | { readonly kind: 'deleting'; readonly deletion: WorkflowDeletion }
  | { readonly kind: 'not_found' }
  /** the schedules would start runs of the next workflow published under the name; delete them first */
  | { readonly kind: 'workflow_scheduled'; readonly scheduleIds: readonly ScheduleId[] };

export async function deleteWorkflow(
  deps: Needs,
  scope: Scope,
  name: WorkflowName,
  requestedBy: KeyId | null,
): Promise<DeleteWorkflowResult> {
  const { workflows, deletions, clock } = deps;
  const summary = await workflows.summary(scope, name);
  if (summary === undefined) return { kind: 'not_found' };
  if (summary.deletingSince === undefined) {
    const scheduleIds = await schedulesOf(deps, scope, name);
    if (scheduleIds.length > 0) return { kind: 'workflow_scheduled', scheduleIds };
  }
  const { projectId, environment } = scope;
  const deletion: WorkflowDeletion = {
    projectId,
    environment,
    name,
    throughVersion: summary.latestVersion,
    requestedAt: clock.now(),
    requestedBy,
    phase: 'closing',
    runsFound: 0,
    runsDeleted: 0,
    revision: 1,
  };
  // Writes the record first: a name closed without a record would stay closed.
  const stored = (await deletions.begin(deletion)) === 'stored' ? deletion : await deletions.deletion(deletion);
  if (stored === undefined) return { kind: 'not_found' };
  if (stored.phase !== 'closing') return { kind: 'deleting', deletion: stored };
  const closed = await closeName(deps, stored);
  return closed === undefined ? { kind: 'not_found' } : { kind: 'deleting', deletion: closed };
}

/** The deletion of a closed name; undefined while its record moves to a higher version number. */
export const deletionOf = (
  { deletions }: Pick<Deps, 'deletions'>,
  { projectId, environment }: Scope,
  { name, latestVersion: throughVersion }: WorkflowSummary,
): Promise<WorkflowDeletion | undefined> => deletions.deletion({ projectId, environment, name, throughVersion });

const schedulesPerPage = 100;
/** Schedules named in a refusal; there may be more. */
const maxNamedSchedules = 100;

async function schedulesOf({ schedules }: Needs, scope: Scope, name: WorkflowName): Promise<readonly ScheduleId[]> {
  const found: ScheduleId[] = [];
  let after: ScheduleId | undefined;
  do {
    const page = await schedules.list(scope, defined({ limit: schedulesPerPage, after }));
    found.push(...page.schedules.flatMap(({ definition, scheduleId }) => (definition.workflowName === name ? [scheduleId] : [])));
    after = page.next;
  } while (after !== undefined && found.length < maxNamedSchedules);
  return found.slice(0, maxNamedSchedules);
}
