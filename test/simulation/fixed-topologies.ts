/** The topologies of the conformance tests as fixed workflows: the product's node types, with scripted attempts. */
import { compile } from '../../lib/engine/graph/compile.ts';
import { evaluatePure, inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';
import { createLens } from '../../lib/service/definitions/publish-lens.ts';
import { createWorkflow } from '../../lib/service/definitions/publish-workflow.ts';
import { lensAttempts } from '../conformance/lens-attempts.ts';
import { type Reply, type Topology, definitionOf, finishedWith } from '../conformance/topology.ts';
import type { FixedWorkflow } from './crash-run.ts';
import { scriptedScope } from './scripted.ts';

export const productTypes = {
  compile: (version: Parameters<typeof compile>[0]) => compile(version, termsOf),
  evaluate: evaluatePure,
};

/** A scripted attempt stands for a node with side effects, unless the node says otherwise: its result has a commit of its own. */
const typesWithEffects = {
  ...productTypes,
  compile: (version: Parameters<typeof compile>[0]) =>
    compile(version, (node) => {
      const terms = termsOf(node);
      return { ...terms, policy: { ...terms.policy, isIdempotent: node.config['idempotent'] === true } };
    }),
};

/** The topology with the product's defaults: workers commit the results of its scripts together. */
export const packedTopology = (topology: Topology): FixedWorkflow => ({
  ...fixedTopology(topology),
  name: `${topology.name}, packed`,
  variantOf: topology.name,
  types: productTypes,
  // Ends that nothing publishes may be recorded with the commits that end their runs.
  runEvents: 'failed',
});

export const fixedTopology = (topology: Topology): FixedWorkflow => ({
  name: topology.name,
  workflow: topology.name,
  input: topology.input ?? {},
  types: typesWithEffects,
  // Of several workflows each has a budget of its own.
  ...(topology.calls === undefined && topology.options !== undefined ? { limits: topology.options } : {}),
  publish: async (deps) => {
    const { calls = [], ...drawn } = topology;
    for (const each of [drawn, ...calls]) {
      const answer = await createWorkflow(deps, scriptedScope, definitionOf(each), inspectNode);
      if (answer.kind !== 'published') throw new Error(JSON.stringify(answer));
    }
    for (const lens of topology.lenses ?? []) await createLens(deps, scriptedScope, lens);
  },
  ...(topology.actions === undefined ? {} : { outside: topology.actions }),
  attempts: (process, deps, actions) => async (node, input, tools) => {
    if (node.type === 'lens') return lensAttempts(topology, deps.lenses)(node, input, tools);
    const reply = replyOf(topology, node.id, tools.number);
    if (typeof reply !== 'function') return { outcome: reply, printed: [] };
    const [, iteration = ''] = /^[^/]*\/[^@]*@?(.*)$/.exec(tools.token) ?? [];
    const outcome = await reply({
      inputs: input.inputs,
      iteration,
      actions,
      lasts: (time) => process.sleep(time, tools.signal),
    });
    return { outcome, printed: [] };
  },
});

const replyOf = ({ replies = {} }: Topology, node: string, attempt: number): Reply => {
  const told = replies[node] ?? finishedWith(node);
  if (!isList(told)) return told;
  return told[Math.min(attempt, told.length) - 1] ?? finishedWith(node);
};

const isList = (replies: Reply | readonly Reply[]): replies is readonly Reply[] => Array.isArray(replies);
