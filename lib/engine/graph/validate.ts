/**
 * Judges a whole definition before anything is done with it, and reports everything that is wrong at once.
 * Pure: what a node type has to say about its own nodes is asked of `inspect`, which the service brings.
 */
import type { Finding, WorkflowDefinition } from './definition.ts';
import { checkArguments } from './check-arguments.ts';
import { checkBudget } from './check-budget.ts';
import { checkConcurrency } from './check-concurrency.ts';
import { checkEdges } from './check-edges.ts';
import { checkLoops } from './check-loops.ts';
import { checkPaths } from './check-paths.ts';
import { checkVariables } from './check-variables.ts';
import { definitionLimits, finding, jsonPointer } from './findings.ts';
import { type InspectNode, InspectionWork } from './inspection.ts';
import { shapeOf } from './shape.ts';

/** All findings, in the order nodes, edges, paths, loops, variables, arguments, budget, concurrency. Empty where nothing is wrong. */
export const validate = (definition: WorkflowDefinition, inspect: InspectNode): readonly Finding[] => {
  const tooLarge = checkSize(definition);
  if (tooLarge.length > 0) return tooLarge;
  const work = new InspectionWork();
  const inspections = definition.nodes.map((node) => inspect(node, work));
  const facts = inspections.map((inspection) => inspection.facts);
  const shape = shapeOf(definition, {
    isLoop: (node) => facts[node]?.isLoop === true,
    isTrigger: (node) => facts[node]?.isTrigger === true,
  });
  return [
    ...checkIds(definition),
    ...inspections.flatMap(({ findings }, index) =>
      findings.map(({ code, pointer, message }) => finding(code, `${jsonPointer('nodes', index)}${pointer}`, message)),
    ),
    ...checkEdges(definition, facts),
    ...checkPaths(definition, shape, facts),
    ...checkLoops(definition, shape, facts),
    ...checkVariables(definition, shape, facts),
    ...checkArguments(definition.options.args ?? []),
    ...checkBudget(definition.options.budget),
    ...checkConcurrency(definition.options.maxConcurrentRuns),
  ];
};

/** Counted first and reported alone: the rest of the checks is only promised to be quick below the limits. */
const checkSize = ({ nodes, edges }: WorkflowDefinition): readonly Finding[] => [
  ...exceeds('nodes', nodes.length, definitionLimits.nodes),
  ...exceeds('edges', edges.length, definitionLimits.edges),
];

const exceeds = (what: 'nodes' | 'edges', count: number, limit: number): readonly Finding[] =>
  count <= limit
    ? []
    : [finding('definition_too_large', jsonPointer(what), `${count} ${what} are more than the limit of ${limit}`)];

const checkIds = ({ nodes }: WorkflowDefinition): readonly Finding[] => {
  const seen = new Map<string, number>();
  return nodes.flatMap(({ id }, index) => {
    const earlier = seen.get(id);
    if (earlier === undefined) seen.set(id, index);
    return earlier === undefined
      ? []
      : [
          finding(
            'duplicate_node_id',
            jsonPointer('nodes', index, 'id'),
            `the id ${id} is that of ${jsonPointer('nodes', earlier)} already`,
          ),
        ];
  });
};
