/** What a picture shows of a workflow definition: nodes, edges with their labels, and the bodies of loops. */
import * as z from 'zod';

const conditionPart = z.looseObject({
  leftValue: z.unknown().optional(),
  operator: z.string(),
  rightValue: z.unknown().optional(),
  expression: z.string().optional(),
});
const branch = z.looseObject({
  id: z.string(),
  label: z.string().optional(),
  conditionLogic: z.enum(['AND', 'OR']).default('AND'),
  conditions: z.array(conditionPart).default([]),
});
const definition = z.looseObject({
  name: z.string(),
  nodes: z.array(
    z.looseObject({
      id: z.string(),
      type: z.string(),
      label: z.string().optional(),
      config: z.looseObject({ branches: z.array(branch).default([]), status: z.string().optional() }).default({ branches: [] }),
    }),
  ),
  edges: z.array(
    z.looseObject({
      source: z.string(),
      target: z.string(),
      sourceHandle: z.string().default('main'),
      sourceOutputKey: z.string().optional(),
      targetParamLabel: z.string().optional(),
      condition: z.looseObject({ type: z.string(), value: z.unknown().optional() }).optional(),
    }),
  ),
});
type Definition = z.output<typeof definition>;
type Edge = Definition['edges'][number];

export interface PictureNode {
  readonly id: string;
  readonly type: string;
  readonly label: string;
  /** the loop in whose body it is */
  readonly loop: string | undefined;
}
export interface PictureEdge {
  readonly source: string;
  readonly target: string;
  readonly lines: readonly string[];
  readonly isError: boolean;
}
export interface PictureGraph {
  readonly name: string;
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
}

export function pictureGraph(body: unknown): PictureGraph {
  const parsed = definition.parse(body);
  const loopOf = innermostLoops(parsed);
  return {
    name: parsed.name,
    nodes: parsed.nodes.map(({ id, type, label, config }) => ({
      id,
      type: type === 'end' && config.status === 'error' ? 'end (error)' : type,
      label: label ?? id,
      loop: loopOf.get(id),
    })),
    edges: edgesOf(parsed),
  };
}

/** Edges with the same ends and handle are one line with several labels. */
function edgesOf(parsed: Definition): readonly PictureEdge[] {
  const groups = Map.groupBy(parsed.edges, ({ source, target, sourceHandle }) => JSON.stringify([source, target, sourceHandle]));
  return [...groups.values()].flatMap((edges) => {
    const [first] = edges;
    if (first === undefined) return [];
    const { source, target, sourceHandle } = first;
    return [
      { source, target, lines: [...handleLines(parsed, first), ...edges.flatMap(valueLines)], isError: sourceHandle === 'error' },
    ];
  });
}

function handleLines({ nodes }: Definition, { source, sourceHandle }: Edge): readonly string[] {
  if (sourceHandle === 'main') return [];
  if (sourceHandle === 'loop') return ['each item'];
  const taken = nodes.find(({ id }) => id === source)?.config.branches.find(({ id }) => id === sourceHandle);
  if (taken === undefined) return [sourceHandle];
  const tests = taken.conditions.map((each) => shortened(conditionText(each)));
  return [
    taken.label ?? taken.id,
    ...tests.map((text, index) => (index === 0 ? text : `${taken.conditionLogic.toLowerCase()} ${text}`)),
  ];
}

const valueLines = ({ sourceOutputKey, targetParamLabel, condition }: Edge): readonly string[] => [
  ...(targetParamLabel === undefined ? [] : [`${sourceOutputKey ?? 'output'} → ${targetParamLabel}`]),
  ...(condition === undefined ? [] : [shortened(`if ${condition.type} ${shownValue(condition.value)}`)]),
];

const signs: Readonly<Record<string, string>> = {
  equals: '=',
  not_equals: '≠',
  greater_than: '>',
  greater_than_or_equal: '≥',
  less_than: '<',
  less_than_or_equal: '≤',
};
const conditionText = ({ leftValue, operator, rightValue, expression }: z.output<typeof conditionPart>): string =>
  operator === 'expression'
    ? (expression ?? shownValue(leftValue))
    : `${shownValue(leftValue)} ${signs[operator] ?? operator.replaceAll('_', ' ')} ${shownValue(rightValue)}`.trim();

/** A template without its braces and `ctx.`, other values as JSON. */
const shownValue = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  const path = typeof value === 'string' ? /^\{\{\s*(?:ctx\.)?([^{}]+?)\s*\}\}$/.exec(value)?.[1] : undefined;
  return path ?? JSON.stringify(value);
};
const maxLineLength = 34;
const shortened = (text: string): string => (text.length > maxLineLength ? `${text.slice(0, maxLineLength - 1)}…` : text);

/** The nodes that follow a loop's handle `loop`, up to the loop itself. The smallest body that has a node is its innermost loop. */
function innermostLoops({ nodes, edges }: Definition): ReadonlyMap<string, string> {
  const bodies = nodes
    .filter(({ type }) => type === 'loop')
    .map(({ id }) => ({ id, body: bodyOf(id, edges) }))
    .toSorted((one, other) => other.body.size - one.body.size);
  return new Map(bodies.flatMap(({ id, body }) => [...body].map((node): [string, string] => [node, id])));
}

function bodyOf(loop: string, edges: readonly Edge[]): ReadonlySet<string> {
  const body = new Set<string>();
  const queue = edges
    .filter(({ source, sourceHandle }) => source === loop && sourceHandle === 'loop')
    .map(({ target }) => target);
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (node === loop || body.has(node)) continue;
    body.add(node);
    for (const { source, target } of edges) if (source === node) queue.push(target);
  }
  return body;
}
