/** A published workflow version as it is stored. The HTTP API has its own schemas, which explain more and allow more. */
import * as z from 'zod';
import {
  type ArgumentDeclaration,
  type Budget,
  type EdgeCondition,
  type EdgeDefinition,
  type NodeDefinition,
  type WorkflowDefinition,
  type WorkflowOptions,
  type WorkflowVersion,
  mergeStrategies,
} from '../engine/graph/definition.ts';
import type { PinnedOutput, PinnedOutputs } from '../engine/graph/pinned-outputs.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Draft } from '../ports/drafts.ts';
import { jsonObject, jsonValue } from './events.ts';
import { exactly } from './exact.ts';
import { instant, nodeId, workflowName } from './ids.ts';
import { read } from './unreadable.ts';

const node = exactly<NodeDefinition>()(
  z.strictObject({
    id: nodeId,
    type: z.string(),
    label: z.string().exactOptional(),
    config: jsonObject,
    position: z.strictObject({ x: z.number(), y: z.number() }).exactOptional(),
  }),
);

const condition: z.ZodType<EdgeCondition> = z.union([
  z.strictObject({ type: z.enum(['equals', 'contains']), value: jsonValue }),
  z.strictObject({ type: z.enum(['present', 'truthy']) }),
]);

const edge = exactly<EdgeDefinition>()(
  z.strictObject({
    id: z.string().exactOptional(),
    source: nodeId,
    target: nodeId,
    sourceHandle: z.string().exactOptional(),
    sourceOutputKey: z.string().exactOptional(),
    targetParamLabel: z.string().exactOptional(),
    mergeStrategy: z.enum(mergeStrategies).exactOptional(),
    condition: condition.exactOptional(),
  }),
);

/** A declared argument of a workflow or of a query. */
export const argument = exactly<ArgumentDeclaration>()(
  z.strictObject({
    name: z.string(),
    type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
    required: z.boolean(),
    default: jsonValue.exactOptional(),
  }),
);

const budget = exactly<Budget>()(
  z.strictObject({ maxNodeExecutions: z.number().exactOptional(), maxTokens: z.number().exactOptional() }),
);

const options = exactly<WorkflowOptions>()(
  z.strictObject({
    args: z.array(argument).readonly().exactOptional(),
    deadlineSeconds: z.number().exactOptional(),
    budget: budget.exactOptional(),
    maxConcurrentRuns: z.number().exactOptional(),
  }),
);

const graphFields = { name: workflowName, nodes: z.array(node).readonly(), edges: z.array(edge).readonly(), options };

export const workflowVersion: z.ZodType<WorkflowVersion> = exactly<WorkflowVersion>()(
  z.strictObject({ ...graphFields, version: z.int().min(1) }),
);

const pinnedOutput = exactly<PinnedOutput>()(z.strictObject({ output: jsonValue, handle: z.string().exactOptional() }));

/** A draft as it is stored under its name and revision. */
export const draftContent = exactly<Omit<Draft, 'name' | 'revision'>>()(
  z.strictObject({
    basedOn: z.int().nullable(),
    definition: jsonObject,
    pinned: z.record(z.string(), pinnedOutput).readonly().exactOptional(),
    updatedAt: instant,
    updatedBy: z.string(),
  }),
);

/** The unsaved graph of a test run, stored beside its log. */
export interface UnsavedGraph {
  readonly definition: WorkflowDefinition;
  readonly pinned: PinnedOutputs;
  /** the idempotency key of the start request */
  readonly startIdempotencyKey: string;
}

const unsavedGraph = exactly<UnsavedGraph>()(
  z.strictObject({
    definition: exactly<WorkflowDefinition>()(z.strictObject(graphFields)),
    pinned: z.record(z.string(), pinnedOutput).readonly(),
    startIdempotencyKey: z.string(),
  }),
);

/** An unsaved graph as JSON. It consists of JSON values only. */
export const unsavedGraphBody = (graph: UnsavedGraph): JsonValue => JSON.parse(JSON.stringify(graph)) as JsonValue;
/** @throws Unreadable */
export const parseUnsavedGraph = (body: JsonValue): UnsavedGraph => read('the graph of a test run', unsavedGraph, body);
