/** Workflows as answers show them. */
import { defined } from '../../../lib/engine/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import type { WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { DeletionPhase, WorkflowDeletion } from '../../../lib/ports/deletions.ts';
import type { WorkflowSummary } from '../../../lib/ports/versions.ts';
import { times } from './times.ts';
import { summaryOf } from './versions.ts';

export const workflowSummaryOf = (summary: WorkflowSummary) => ({
  ...summaryOf(summary),
  ...times({ deletingSince: summary.deletingSince }),
});

const stateOf = (phase: DeletionPhase) => (phase === 'closing' || phase === 'finding' ? 'finding_runs' : 'deleting_runs');

export const deletionIn = ({ requestedAt, phase, runsFound, runsDeleted }: WorkflowDeletion) =>
  ({
    requestedAt: iso(requestedAt),
    state: stateOf(phase),
    runsFound,
    runsDeleted,
  }) as const;

export const workflowOf = (
  summary: WorkflowSummary,
  version: WorkflowVersion,
  deletion: WorkflowDeletion | undefined,
): ResponseOf<'getWorkflow'>['body'] =>
  defined({
    ...workflowSummaryOf(summary),
    deletion: deletion === undefined ? undefined : deletionIn(deletion),
    version: version.version,
    nodes: version.nodes.map((node) => ({ ...node })),
    edges: version.edges.map((edge) => ({ ...edge })),
    options: defined({
      args: version.options.args === undefined ? undefined : version.options.args.map((argument) => ({ ...argument })),
      deadlineSeconds: version.options.deadlineSeconds,
    }),
  });
