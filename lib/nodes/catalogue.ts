/**
 * What the other modules ask about a node by its type: findings and facts for validation, execution traits, and the evaluation of pure
 * nodes. This file must not import the sandbox or the HTTP client, because the API function bundles it.
 */
import { defined } from '../base/defined.ts';
import { ContextTooLarge } from '../engine/graph/payload-limits.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { Finding, NodeDefinition } from '../engine/graph/definition.ts';
import type { NodeExecutionTraits } from '../engine/graph/compile.ts';
import { finding, jsonPointer } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import type { EvaluatePure, NodePolicy } from '../engine/graph/plan.ts';
import { invariant } from '../engine/invariant.ts';
import type { ReadConfig } from './node-type.ts';
import { nodeTypes } from './node-types.ts';
import { graphDefaults, readSettings } from './settings.ts';

type Typed = Pick<NodeDefinition, 'type' | 'config'>;

/** The settings that every node has. An invalid setting, which validation rejects, counts as absent. */
export const policyOf = ({ type, config }: Typed): NodePolicy =>
  readSettings(config, nodeTypes.get(type)?.defaults ?? graphDefaults).policy;

/** Inspects a node for validation: its findings and its facts. */
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
  // Two nodes may share a default output variable; only names that an author sets are checked for conflicts.
  const isChosen = outputVariable !== undefined && outputVariable !== known.defaults.outputVariable;
  return {
    findings,
    facts: {
      policy: isChosen ? { ...policy, outputVariable } : policy,
      handles: read.config.handles,
      isTrigger: known.isTrigger,
      isLoop: known.isLoop,
      endsRun: read.config.endsRun,
      writes: [...(outputVariable === undefined ? [] : [outputVariable]), ...read.config.variables],
      reads: read.config.reads(),
      ...(read.config.waitMs === undefined ? {} : { waitMs: read.config.waitMs }),
    },
  };
};

/** @param pointer JSON pointer to the node, such as `/nodes/3` */
export const findingsOf = (node: NodeDefinition, pointer: string): readonly Finding[] =>
  inspectNode(node).findings.map(({ code, pointer: below, message }) => finding(code, pointer + below, message));

/** The execution traits of a node of a valid definition. */
export const termsOf = (node: NodeDefinition): NodeExecutionTraits =>
  defined({
    policy: policyOf(node),
    isPure: readConfig(node)?.decide !== undefined,
    recordsStart: nodeTypes.get(node.type)?.announcesStart === true,
    isLoop: nodeTypes.get(node.type)?.isLoop === true,
    endsRun: readConfig(node)?.endsRun === true ? (true as const) : undefined,
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

/** The keys of the config in which `{{` begins a template. */
export const templateKeysOf = ({ type, config }: Typed): readonly string[] => {
  const known = nodeTypes.get(type);
  if (known === undefined) return [];
  return Object.keys(config).filter((key) => Object.hasOwn(known.schema.shape, key) && !known.literalKeys.includes(key));
};

const readConfig = ({ type, config }: Typed): ReadConfig | undefined => nodeTypes.get(type)?.read(config).config;

const unknownType = (type: string) =>
  ({
    code: 'node_type_unknown',
    pointer: '/type',
    message: `unknown node type ${type}; the types are ${[...nodeTypes.keys()].join(', ')}`,
  }) as const;
