/**
 * Validates a whole definition before any side effect, and reports all findings at once.
 * Pure: `inspect`, which the service supplies, evaluates the config of each node type.
 */
import { maxSlots } from '../concurrency-slots.ts';
import type { ArgumentDeclaration, Budget, Finding, WorkflowDefinition } from './definition.ts';
import { checkEdges } from './check-edges.ts';
import { checkJoins } from './check-joins.ts';
import { checkLoops } from './check-loops.ts';
import { checkPaths } from './check-paths.ts';
import { checkVariables } from './check-variables.ts';
import { definitionLimits, finding, jsonPointer } from './findings.ts';
import { type InspectNode, InspectionWork, type NodeFacts } from './inspection.ts';
import { shapeOf } from './shape.ts';
import { matchesArgumentType } from './validate-input.ts';

/** All findings, in the order nodes, edges, paths, loops, joins, variables, arguments, budget, concurrency. Empty if valid. */
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
    ...checkJoins(definition, shape, facts),
    ...checkVariables(definition, shape, facts),
    ...checkArguments(definition.options.args ?? []),
    ...checkBudget(definition.options.budget),
    ...checkConcurrency(definition.options.maxConcurrentRuns),
    ...checkWaits(definition, facts),
  ];
};

/** A deadline that is not declared grows with the waits of the run, so only a declared one is compared. */
function checkWaits({ nodes, options }: WorkflowDefinition, facts: readonly (NodeFacts | undefined)[]): readonly Finding[] {
  const { deadlineSeconds } = options;
  if (deadlineSeconds === undefined) return [];
  return nodes.flatMap(({ id }, index) => {
    const waitMs = facts[index]?.waitMs ?? 0;
    if (waitMs <= deadlineSeconds * 1_000) return [];
    const message =
      `node ${id} waits for up to ${waitMs / 1_000} s, and the deadline of the run is ${deadlineSeconds} s: ` +
      'raise options.deadlineSeconds, remove it so that the deadline grows with the wait, or shorten the wait';
    return [finding('wait_exceeds_deadline', jsonPointer('nodes', index, 'config'), message)];
  });
}

/** Checked first and reported alone: the other checks are fast only below these limits. */
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
            `the id ${id} is already used by ${jsonPointer('nodes', earlier)}`,
          ),
        ];
  });
};

const checkArguments = (declarations: readonly ArgumentDeclaration[]): readonly Finding[] =>
  declarations.flatMap(({ name, type, default: defaultValue }, index) => [
    ...(declarations.findIndex((other) => other.name === name) < index
      ? [finding('argument_invalid', jsonPointer('options', 'args', index, 'name'), `the argument ${name} is declared twice`)]
      : []),
    ...(defaultValue !== undefined && !matchesArgumentType(type, defaultValue)
      ? [
          finding(
            'argument_invalid',
            jsonPointer('options', 'args', index, 'default'),
            `the default of ${name} is not of the type ${type}`,
          ),
        ]
      : []),
  ]);

/** Far more than a run reaches before its deadline, and small enough that sums stay exact integers. */
export const maxBudget = 1_000_000_000;

const checkBudget = (budget: Budget | undefined): readonly Finding[] =>
  Object.entries(budget ?? {}).flatMap(([name, value]) =>
    Number.isInteger(value) && value >= 1 && value <= maxBudget
      ? []
      : [
          finding(
            'budget_invalid',
            jsonPointer('options', 'budget', name),
            `${name} must be a whole number from 1 to ${maxBudget}; it is ${value}`,
          ),
        ],
  );

const checkConcurrency = (maxConcurrentRuns: number | undefined): readonly Finding[] =>
  maxConcurrentRuns === undefined ||
  (Number.isInteger(maxConcurrentRuns) && maxConcurrentRuns >= 1 && maxConcurrentRuns <= maxSlots)
    ? []
    : [
        finding(
          'concurrency_invalid',
          jsonPointer('options', 'maxConcurrentRuns'),
          `maxConcurrentRuns must be a whole number from 1 to ${maxSlots}; it is ${maxConcurrentRuns}`,
        ),
      ];
