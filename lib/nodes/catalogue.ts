/**
 * All node types, for whoever checks, plans and decides. A new type is its folder and one line here (and one in
 * `runners.ts` where it needs a worker). Light: no sandbox, no HTTP client; the API function carries this file.
 */
import { ContextTooLarge } from '../engine/graph/payload-limits.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { Finding, NodeDefinition } from '../engine/graph/definition.ts';
import type { NodeExecutionTraits } from '../engine/graph/compile.ts';
import { finding, jsonPointer } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import type { EvaluatePure, NodePolicy } from '../engine/graph/plan.ts';
import { invariant } from '../engine/invariant.ts';
import { condition } from './condition/shape.ts';
import { dataQuery } from './data-query/shape.ts';
import { delay } from './delay/shape.ts';
import { end } from './end/shape.ts';
import { http } from './http/shape.ts';
import { javascript } from './javascript/shape.ts';
import { loop } from './loop/shape.ts';
import { lens } from './lens/shape.ts';
import { type NodeType, type ReadConfig, nodeType } from './node-type.ts';
import { graphDefaults, readSettings } from './settings.ts';
import { signal } from './signal/shape.ts';
import { subflow } from './subflow/shape.ts';
import { start } from './start/shape.ts';

const all: readonly NodeType[] = [
  nodeType(start),
  nodeType(end),
  nodeType(condition),
  nodeType(javascript),
  nodeType(delay),
  nodeType(http),
  nodeType(dataQuery),
  nodeType(signal),
  nodeType(subflow),
  nodeType(loop),
  nodeType(lens),
];

export const nodeTypes: ReadonlyMap<string, NodeType> = new Map(all.map((each) => [each.type, each]));

type Typed = Pick<NodeDefinition, 'type' | 'config'>;

/** The settings every node has; a bad one, which validation refuses, counts as absent. */
export const policyOf = ({ type, config }: Typed): NodePolicy =>
  readSettings(config, nodeTypes.get(type)?.defaults ?? graphDefaults).policy;

/** What the graph's rules ask of a node before anything runs. */
export const inspectNode: InspectNode = ({ type, config }, work) => {
  const known = nodeTypes.get(type);
  if (known === undefined) return { findings: [unknownType(type)] };
  const settings = readSettings(config, known.defaults);
  const read = known.read(config, work);
  const findings = [...settings.findings, ...read.findings].map(({ code, path, message }) => ({
    code,
    pointer: jsonPointer('config', ...path),
    message,
  }));
  if (read.config === undefined) return { findings };
  const { outputVariable, ...policy } = settings.policy;
  // A name that nobody chose is no promise: two nodes that leave it unsaid do not quarrel over it.
  const isChosen = outputVariable !== undefined && outputVariable !== known.defaults.outputVariable;
  return {
    findings,
    facts: {
      policy: isChosen ? { ...policy, outputVariable } : policy,
      handles: read.config.handles,
      isTrigger: known.isTrigger,
      isLoop: known.isLoop,
    },
  };
};

/** @param pointer JSON pointer to the node, such as `/nodes/3` */
export const findingsOf = (node: NodeDefinition, pointer: string): readonly Finding[] =>
  inspectNode(node).findings.map(({ code, pointer: below, message }) => finding(code, pointer + below, message));

/** What a plan must know of a node of a valid definition. */
export const termsOf = (node: NodeDefinition): NodeExecutionTraits => ({
  policy: policyOf(node),
  isPure: readConfig(node)?.decide !== undefined,
  recordsStart: nodeTypes.get(node.type)?.announcesStart === true,
  isLoop: nodeTypes.get(node.type)?.isLoop === true,
});

export const evaluatePure: EvaluatePure = (node, input, now) => {
  const decide = readConfig(node)?.decide;
  invariant(decide !== undefined, `node ${node.id} of type ${node.type} cannot be decided without a worker`);
  try {
    return decide(input, now);
  } catch (error) {
    if (error instanceof ContextTooLarge || error instanceof WorkLimitExceeded) return { kind: 'failed', failure: error.failure };
    throw error;
  }
};

const readConfig = ({ type, config }: Typed): ReadConfig | undefined => nodeTypes.get(type)?.read(config).config;

const unknownType = (type: string) =>
  ({
    code: 'node_type_unknown',
    pointer: '/type',
    message: `there is no node type ${type}; there are ${[...nodeTypes.keys()].join(', ')}`,
  }) as const;
