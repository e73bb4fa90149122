/** Bodies about workflows. Unknown keys are refused with their place. */
import * as z from 'zod';
import { mergeStrategies } from '../../engine/graph/definition.ts';
import { json, jsonObject, utcTimestamp, nodeId, page, workflowName } from './parts.ts';
import { finding, summaryFields } from './versions.ts';

const day = 86_400;
/** A workflow may declare up to a year. */
const maxDeadlineSeconds = 365 * day;
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
    condition: condition.exactOptional().meta({ description: 'on the value that the edge would carry' }),
  })
  .meta({ id: 'Edge' });

/** What may be given under a name: to a run of a workflow, to a query. */
export const argument = z.strictObject({
  name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/, 'must be a name: letters, digits and _, not beginning with a digit'),
  type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
  required: z.boolean().default(false),
  default: json.exactOptional(),
});

/** Judged with the definition, so that a bad one is told with everything else. */
const budget = z
  .strictObject({
    maxNodeExecutions: z.number().exactOptional().meta({ description: 'attempts and calls, a whole number from 1' }),
    maxTokens: z.number().exactOptional().meta({ description: 'tokens that models report, a whole number from 1' }),
  })
  .meta({ id: 'Budget' });

const options = z.strictObject({
  args: z.array(argument).max(200).exactOptional(),
  deadlineSeconds: z.int().min(1).max(maxDeadlineSeconds).exactOptional(),
  budget: budget.exactOptional(),
  maxConcurrentRuns: z
    .number()
    .exactOptional()
    .meta({ description: 'runs at work at once, a whole number from 1 to 1,000; the others wait' }),
});

export const graph = { nodes: z.array(node), edges: z.array(edge).default([]), options: options.default({}) };

export const createWorkflowBody = z.strictObject({ name: workflowName, ...graph }).meta({ id: 'CreateWorkflow' });
/** The name may be repeated, so that the same document serves both; it must be the path's. */
export const publishVersionBody = z.strictObject({ name: workflowName.exactOptional(), ...graph }).meta({ id: 'PublishVersion' });
export const validateWorkflowBody = z
  .strictObject({ name: workflowName.exactOptional(), ...graph })
  .meta({ id: 'ValidateWorkflow' });

export const workflowParams = z.strictObject({ name: workflowName });
export const validatedResponse = z.strictObject({ valid: z.boolean(), findings: z.array(finding).readonly() });

/** The confirmation is judged by the operation, so that a wrong one has a code of its own. */
export const deleteWorkflowBody = z
  .strictObject({ confirm: z.string().max(256).meta({ description: 'the name of the workflow, once more' }) })
  .meta({ id: 'DeleteWorkflow' });

const deletion = z
  .strictObject({
    requestedAt: utcTimestamp,
    state: z.enum(['finding_runs', 'deleting_runs']),
    runsFound: z.int().meta({ description: 'as far as the runs of the project have been looked through' }),
    runsDeleted: z.int(),
  })
  .meta({ id: 'WorkflowDeletion' });
export const deletingResponse = z.strictObject({ name: z.string(), deletion });

const workflowSummary = { ...summaryFields, deletingSince: utcTimestamp.exactOptional() };
export const workflowList = page(z.strictObject(workflowSummary).meta({ id: 'WorkflowSummary' }));

export const workflowResponse = z
  .strictObject({
    ...workflowSummary,
    deletion: deletion.exactOptional().meta({ description: 'how far its deletion has come' }),
    version: z.int(),
    nodes: z.array(jsonObject).readonly().meta({ description: 'nodes as they were published' }),
    edges: z.array(jsonObject).readonly().meta({ description: 'edges as they were published' }),
    options: jsonObject,
  })
  .meta({ id: 'Workflow' });
