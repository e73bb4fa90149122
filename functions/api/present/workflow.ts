/** Workflows as answers show them. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import type { WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import type { WorkflowSummary } from '../../../lib/ports/versions.ts';
import { summaryOf } from './versions.ts';

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
