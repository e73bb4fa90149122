/** Workflows as answers show them. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import type { Finding, WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import { type Instant, iso } from '../../../lib/engine/time.ts';
import type { WorkflowSummary } from '../../../lib/ports/workflow-store.ts';
import { times } from './times.ts';

export const summaryOf = ({ name, latestVersion, createdAt, updatedAt, archivedAt }: WorkflowSummary) => ({
  name,
  latestVersion,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
  ...times({ archivedAt }),
});

export const workflowOf = (summary: WorkflowSummary, version: WorkflowVersion): AnswerOf<'getWorkflow'>['body'] => ({
  ...summaryOf(summary),
  version: version.version,
  nodes: version.nodes.map((node) => ({ ...node })),
  edges: version.edges.map((edge) => ({ ...edge })),
  options: {
    ...(version.options.args === undefined ? {} : { args: version.options.args.map((argument) => ({ ...argument })) }),
    ...(version.options.deadlineSeconds === undefined ? {} : { deadlineSeconds: version.options.deadlineSeconds }),
  },
});

export const publishedOf = (
  name: string,
  {
    version,
    createdAt,
    warnings,
  }: { readonly version: number; readonly createdAt: Instant; readonly warnings: readonly Finding[] },
) => ({ name, version, createdAt: iso(createdAt), warnings });
