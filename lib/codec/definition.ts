/** A published workflow version as it is stored. The HTTP door has schemas of its own, which explain more and allow more. */
import { z } from 'zod';
import {
  type ArgumentDeclaration,
  type EdgeDefinition,
  type NodeDefinition,
  type WorkflowOptions,
  type WorkflowVersion,
  mergeStrategies,
} from '../engine/graph/definition.ts';
import { jsonObject, jsonValue } from './events.ts';
import { exactly } from './exact.ts';
import { nodeId, workflowName } from './ids.ts';

const node = exactly<NodeDefinition>()(
  z.strictObject({
    id: nodeId,
    type: z.string(),
    label: z.string().exactOptional(),
    config: jsonObject,
    position: z.strictObject({ x: z.number(), y: z.number() }).exactOptional(),
  }),
);

const edge = exactly<EdgeDefinition>()(
  z.strictObject({
    id: z.string().exactOptional(),
    source: nodeId,
    target: nodeId,
    sourceHandle: z.string().exactOptional(),
    sourceOutputKey: z.string().exactOptional(),
    targetParamLabel: z.string().exactOptional(),
    mergeStrategy: z.enum(mergeStrategies).exactOptional(),
  }),
);

const argument = exactly<ArgumentDeclaration>()(
  z.strictObject({
    name: z.string(),
    type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
    required: z.boolean(),
    default: jsonValue.exactOptional(),
  }),
);

const options = exactly<WorkflowOptions>()(
  z.strictObject({ args: z.array(argument).readonly().exactOptional(), deadlineSeconds: z.number().exactOptional() }),
);

export const workflowVersion: z.ZodType<WorkflowVersion> = exactly<WorkflowVersion>()(
  z.strictObject({
    name: workflowName,
    version: z.int().min(1),
    nodes: z.array(node).readonly(),
    edges: z.array(edge).readonly(),
    options,
  }),
);
