/** The topologies of the conformance tests as fixed workflows: the product's own node types, and attempts that come to what is told. */
import { compile } from '../../lib/engine/graph/compile.ts';
import { evaluatePure, inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';
import { createLens } from '../../lib/service/publish-lens.ts';
import { createWorkflow } from '../../lib/service/publish-workflow.ts';
import { lensAttempts } from '../conformance/lens-attempts.ts';
import { type Reply, type Topology, definitionOf, done } from '../conformance/topology.ts';
import type { FixedWorkflow } from './crash-run.ts';
import { scriptedScope } from './scripted.ts';

export const productTypes = {
  compile: (version: Parameters<typeof compile>[0]) => compile(version, termsOf),
  evaluate: evaluatePure,
};

export const fixedTopology = (topology: Topology): FixedWorkflow => ({
  name: topology.name,
  workflow: topology.name,
  input: topology.input ?? {},
  types: productTypes,
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
  ...(topology.outside === undefined ? {} : { outside: topology.outside }),
  attempts: (process, deps, outside) => async (node, input, tools) => {
    if (node.type === 'lens') return lensAttempts(topology, deps.lenses)(node, input, tools);
    const reply = replyOf(topology, node.id, tools.number);
    if (typeof reply !== 'function') return { outcome: reply, printed: [] };
    const [, iteration = ''] = /^[^/]*\/[^@]*@?(.*)$/.exec(tools.token) ?? [];
    const outcome = await reply({
      inputs: input.inputs,
      iteration,
      outside,
      lasts: (time) => process.sleep(time, tools.signal),
    });
    return { outcome, printed: [] };
  },
});

const replyOf = ({ replies = {} }: Topology, node: string, attempt: number): Reply => {
  const told = replies[node] ?? done(node);
  if (!isList(told)) return told;
  return told[Math.min(attempt, told.length) - 1] ?? done(node);
};

const isList = (replies: Reply | readonly Reply[]): replies is readonly Reply[] => Array.isArray(replies);
