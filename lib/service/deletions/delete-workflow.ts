/**
 * Asks for the deletion of a workflow with all its versions and runs. The request writes the record and closes the name; the sweep does
 * the rest (`continue-deletions.ts`), because a request may not last as long as thousands of runs take.
 */
import { defined } from '../../engine/defined.ts';
import type { KeyId, ScheduleId, Scope, WorkflowName } from '../../engine/ids.ts';
import type { WorkflowDeletion } from '../../ports/deletions.ts';
import type { WorkflowSummary } from '../../ports/versions.ts';
import { closeName } from './close-name.ts';
import type { Deps } from '../deps.ts';

type Needs = Pick<Deps, 'workflows' | 'schedules' | 'deletions' | 'clock'>;

export type DeleteWorkflowResult =
  | { readonly kind: 'deleting'; readonly deletion: WorkflowDeletion }
  | { readonly kind: 'not_found' }
  /** schedules would go on starting runs of whatever is published under the name next */
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
  // The record comes first: a name that was closed without it would stay closed.
  const stored = (await deletions.begin(deletion)) === 'stored' ? deletion : await deletions.deletion(deletion);
  if (stored === undefined) return { kind: 'not_found' };
  if (stored.phase !== 'closing') return { kind: 'deleting', deletion: stored };
  const closed = await closeName(deps, stored);
  return closed === undefined ? { kind: 'not_found' } : { kind: 'deleting', deletion: closed };
}

/** How far the deletion of a closed name has come; undefined while its record is about to continue under another number. */
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
