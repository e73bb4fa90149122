/** Schemas for workflows. Unknown keys are refused with their pointer. */
import * as z from 'zod';
import { mergeStrategies } from '../../engine/graph/definition.ts';
import { maxDeadline } from '../../engine/log/head.ts';
import { json, jsonObject, utcTimestamp, nodeId, page, workflowName } from './parts.ts';
import { finding, summariesQuery, summaryFields } from './versions.ts';

/** A workflow can declare up to one year. */
const maxDeadlineSeconds = maxDeadline / 1_000;
const label = z.string().max(256);

const node = z
  .strictObject({
    id: nodeId,
    type: z.string().min(1).max(64),
    label: label.exactOptional(),
    config: jsonObject.default({}),
    position: z.strictObject({ x: z.number(), y: z.number() }).exactOptional(),
  })
  .meta({ id: 'Node' });

const condition = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.enum(['equals', 'contains']), value: json }),
    z.strictObject({ type: z.enum(['present', 'truthy']) }),
  ])
  .meta({ id: 'EdgeCondition' });

const edge = z
  .strictObject({
    id: z.string().min(1).max(128).exactOptional(),
    source: nodeId,
    target: nodeId,
    sourceHandle: z.string().min(1).max(128).exactOptional(),
    sourceOutputKey: z.string().min(1).max(512).exactOptional(),
    targetParamLabel: z.string().min(1).max(256).exactOptional(),
    mergeStrategy: z.enum(mergeStrategies).exactOptional(),
    condition: condition.exactOptional().meta({ description: 'condition on the value of the edge' }),
  })
  .meta({ id: 'Edge' });

/** A named argument of a workflow run or of a query. */
export const argument = z.strictObject({
  name: z
    .string()
    .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/, 'must be a name of letters, digits and _ that does not begin with a digit'),
  type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
  required: z.boolean().default(false),
  default: json.exactOptional(),
});

/** Validated with the definition, so that all findings are reported together. */
const budget = z
  .strictObject({
    maxNodeExecutions: z
      .number()
      .exactOptional()
      .meta({ description: 'maximum number of attempts and calls, a whole number from 1' }),
    maxTokens: z
      .number()
      .exactOptional()
      .meta({ description: 'maximum number of tokens that models report, a whole number from 1' }),
  })
  .meta({ id: 'Budget' });

export const maxArguments = 200;

const options = z.strictObject({
  args: z.array(argument).max(maxArguments).exactOptional(),
  deadlineSeconds: z.int().min(1).max(maxDeadlineSeconds).exactOptional(),
  budget: budget.exactOptional(),
  maxConcurrentRuns: z
    .number()
    .exactOptional()
    .meta({ description: 'maximum number of active runs, a whole number from 1 to 1,000; other runs wait' }),
});

export const graph = { nodes: z.array(node), edges: z.array(edge).default([]), options: options.default({}) };

/** The definition in any body that has one. */
export const anyDefinition = z.looseObject(graph);

export const maxNoteLength = 500;

const publication = {
  note: z.string().max(maxNoteLength).exactOptional().meta({ description: 'what the version changes' }),
  draftRevision: z.int().min(1).exactOptional().meta({ description: 'the revision of the draft to delete after publishing' }),
};

export const createWorkflowBody = z
  .strictObject({
    name: workflowName,
    ...graph,
    ...publication,
    basedOn: z.null().exactOptional().meta({ description: 'null: an existing workflow is a version_conflict' }),
  })
  .meta({ id: 'CreateWorkflow' });
/** The name is optional, so that one document works for create and publish; it must equal the name in the path. */
export const publishVersionBody = z
  .strictObject({
    name: workflowName.exactOptional(),
    ...graph,
    ...publication,
    basedOn: z
      .int()
      .min(1)
      .nullable()
      .exactOptional()
      .meta({ description: 'the version that the author started from; if it is not the newest one, the request is refused' }),
  })
  .meta({ id: 'PublishVersion' });
export const validateWorkflowBody = z
  .strictObject({ name: workflowName.exactOptional(), ...graph })
  .meta({ id: 'ValidateWorkflow' });

export const workflowParams = z.strictObject({ name: workflowName });
export const validatedResponse = z.strictObject({ valid: z.boolean(), findings: z.array(finding).readonly() });

/** The operation compares the confirmation, so that a mismatch has its own error code. */
export const deleteWorkflowBody = z
  .strictObject({ confirm: z.string().max(256).meta({ description: 'the name of the workflow' }) })
  .meta({ id: 'DeleteWorkflow' });

const deletion = z
  .strictObject({
    requestedAt: utcTimestamp,
    state: z.enum(['finding_runs', 'deleting_runs']),
    runsFound: z.int().meta({ description: 'the number of runs found so far' }),
    runsDeleted: z.int(),
  })
  .meta({ id: 'WorkflowDeletion' });
export const deletingResponse = z.strictObject({ name: z.string(), deletion });

const workflowSummary = { ...summaryFields, deletingSince: utcTimestamp.exactOptional() };
/** A definition as it is stored. */
export const storedGraph = {
  nodes: z.array(jsonObject).readonly().meta({ description: 'the published nodes' }),
  edges: z.array(jsonObject).readonly().meta({ description: 'the published edges' }),
  options: jsonObject,
};
const definition = { version: z.int(), ...storedGraph };
/** A Lambda response has at most 6 MB, and one definition up to 5 MB: a page has one definition, or as many as fit into this. */
export const maxListedBytes = 4_194_304;

export const workflowsQuery = summariesQuery.extend({
  include: z
    .literal('definition')
    .exactOptional()
    .meta({ description: 'each workflow has the definition of its latest version; a page ends early when it is full' }),
});
export const workflowList = page(
  z
    .strictObject({ ...workflowSummary, definition: z.strictObject(definition).meta({ id: 'ListedDefinition' }).exactOptional() })
    .meta({ id: 'WorkflowSummary' }),
);

export const workflowResponse = z
  .strictObject({
    ...workflowSummary,
    deletion: deletion.exactOptional().meta({ description: 'the progress of its deletion' }),
    ...definition,
  })
  .meta({ id: 'Workflow' });
