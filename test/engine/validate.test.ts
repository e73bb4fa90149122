import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Budget, EdgeDefinition, Finding, NodeDefinition, WorkflowDefinition } from '../../lib/engine/graph/definition.ts';
import { definitionLimits, hasErrors } from '../../lib/engine/graph/findings.ts';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { joinModes } from '../../lib/engine/graph/plan.ts';
import { validate } from '../../lib/engine/graph/validate.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';

const node = (id: string, type = 'step', config: NodeDefinition['config'] = {}): NodeDefinition => ({
  id: nodeId(id),
  type,
  config,
});
const edge = (source: string, target: string, more: Partial<EdgeDefinition> = {}): EdgeDefinition => ({
  source: nodeId(source),
  target: nodeId(target),
  ...more,
});
const workflow = (
  nodes: readonly NodeDefinition[],
  edges: readonly EdgeDefinition[],
  options: WorkflowDefinition['options'] = {},
): WorkflowDefinition => ({ name: workflowName('w'), nodes, edges, options });

/** A small set of node types: `start` begins, `end` has no handle, `fork` has two and no main one. */
const inspect: InspectNode = ({ type, config }) => {
  if (type === 'unheard-of') return { findings: [{ code: 'node_type_unknown', pointer: '/type', message: 'no such type' }] };
  const variable = config['outputVariable'];
  return {
    findings: [],
    facts: {
      policy: {
        joinMode: joinModes.find((mode) => mode === config['joinMode']) ?? 'all',
        errorHandling: config['errorHandling'] === 'fail_workflow' ? 'fail_workflow' : 'continue',
        onParentFailure: config['onParentFailure'] === 'substitute_default' ? 'substitute_default' : 'skip',
        ...(typeof variable === 'string' ? { outputVariable: variable } : {}),
      },
      handles: type === 'end' ? [] : type === 'fork' ? ['yes', 'no', 'error'] : ['output', 'error'],
      isTrigger: type === 'start',
      endsRun: config['endsRun'] === true,
    },
  };
};

const found = (definition: WorkflowDefinition): readonly string[] =>
  validate(definition, inspect).map(({ code, pointer }) => `${code} ${pointer}`);
const writes = (outputVariable: string, more: NodeDefinition['config'] = {}): NodeDefinition['config'] => ({
  outputVariable,
  ...more,
});

describe('one finding each', () => {
  const a = node('a');
  const b = node('b');
  const cases: readonly (readonly [string, WorkflowDefinition])[] = [
    ['no_trigger_node /nodes', workflow([], [])],
    ['duplicate_node_id /nodes/1/id', workflow([a, a], [])],
    ['node_type_unknown /nodes/0/type', workflow([node('a', 'unheard-of')], [])],
    ['orphan_source /edges/0/source', workflow([a], [edge('ghost', 'a')])],
    ['orphan_target /edges/0/target', workflow([a], [edge('a', 'ghost')])],
    ['self_edge /edges/0', workflow([a], [edge('a', 'a')])],
    ['duplicate_edge /edges/1', workflow([a, b], [edge('a', 'b'), edge('a', 'b', { sourceHandle: 'success' })])],
    ['edge_into_start /edges/0/target', workflow([node('s', 'start'), node('t', 'start')], [edge('s', 't')])],
    ['unknown_handle /edges/0/sourceHandle', workflow([a, b], [edge('a', 'b', { sourceHandle: 'maybe' })])],
    ['unknown_handle /edges/0', workflow([node('a', 'fork'), b], [edge('a', 'b')])],
    ['unknown_handle /edges/0', workflow([node('a', 'end'), b], [edge('a', 'b')])],
    ['unreachable_node /nodes/1', workflow([node('s', 'start'), b], [])],
    ['reserved_name /nodes/0/config/outputVariable', workflow([node('a', 'step', writes('input'))], [])],
    ['reserved_name /nodes/0/config/outputVariable', workflow([node('a', 'step', writes('__node_a'))], [])],
    [
      'argument_invalid /options/args/0/default',
      workflow([a], [], { args: [{ name: 'n', type: 'number', required: false, default: 'one' }] }),
    ],
    [
      'argument_invalid /options/args/1/name',
      workflow([a], [], {
        args: [
          { name: 'n', type: 'number', required: false },
          { name: 'n', type: 'number', required: false },
        ],
      }),
    ],
    [
      'merge_conflict /edges/1/mergeStrategy',
      workflow(
        [a, b, node('c')],
        [
          edge('a', 'c', { targetParamLabel: 'x', mergeStrategy: 'array' }),
          edge('b', 'c', { targetParamLabel: 'x', mergeStrategy: 'concat' }),
        ],
      ),
    ],
  ];
  test.each(cases)('%s', (expected, definition) => {
    expect(found(definition)).toEqual([expected]);
  });

  test('a valid definition has no findings', () => {
    const nodes = [node('s', 'start'), node('f', 'fork'), a, b, node('e', 'end')];
    const edges = [
      edge('s', 'f'),
      edge('f', 'a', { sourceHandle: 'yes' }),
      edge('f', 'b', { sourceHandle: 'no' }),
      edge('a', 'e'),
      edge('b', 'e', { sourceHandle: 'success' }),
    ];
    expect(found(workflow(nodes, edges))).toEqual([]);
  });

  test('every finding is reported at once', () => {
    const nodes = [node('s', 'start'), a, b, node('lost', 'step', writes('output'))];
    const edges = [edge('s', 'a'), edge('a', 'b'), edge('b', 'a'), edge('a', 'ghost'), edge('b', 'b')];
    expect(found(workflow(nodes, edges)).toSorted()).toEqual([
      'cycle_detected /nodes/1',
      'orphan_target /edges/3/target',
      'reserved_name /nodes/3/config/outputVariable',
      'self_edge /edges/4',
      'unreachable_node /nodes/3',
    ]);
  });
});

describe('cycles', () => {
  test('each cycle is reported separately, without the nodes that only follow it', () => {
    const nodes = ['s', 'a', 'b', 'behind', 'c', 'd', 'e'].map((id) => node(id));
    const edges = [
      edge('s', 'a'),
      edge('a', 'b'),
      edge('b', 'a'),
      edge('b', 'behind'),
      edge('behind', 'c'),
      edge('c', 'd'),
      edge('d', 'e'),
      edge('e', 'c'),
    ];
    const findings = validate(workflow(nodes, edges), inspect);
    expect(findings.map(({ message }) => message)).toEqual([
      'CycleDetected: a, b form a cycle',
      'CycleDetected: c, d, e form a cycle',
    ]);
  });

  test('a graph is rejected for a cycle exactly if some node can reach itself', () => {
    const graph = fc.integer({ min: 2, max: 8 }).chain((size) =>
      fc.record({
        size: fc.constant(size),
        ends: fc.array(
          fc.tuple(fc.nat(size - 1), fc.nat(size - 1)).filter(([from, to]) => from !== to),
          { maxLength: 14 },
        ),
      }),
    );
    fc.assert(
      fc.property(graph, ({ size, ends }) => {
        const nodes = Array.from({ length: size }, (_, index) => node(`n${index}`));
        const findings = validate(
          workflow(
            nodes,
            ends.map(([from, to]) => edge(`n${from}`, `n${to}`)),
          ),
          inspect,
        );
        const leadsTo = ends.reduce(
          (map, [from, to]) => map.set(from, [...(map.get(from) ?? []), to]),
          new Map<number, number[]>(),
        );
        const reaches = (from: number): ReadonlySet<number> => {
          const reached = new Set(leadsTo.get(from));
          for (const next of reached) for (const further of leadsTo.get(next) ?? []) reached.add(further);
          return reached;
        };
        const expected = nodes.filter((_, index) => reaches(index).has(index)).map(({ id }) => id);
        const named = findings
          .filter(({ code }) => code === 'cycle_detected')
          .flatMap(({ message }) => message.replace('CycleDetected: ', '').replace(' form a cycle', '').split(', '));
        expect(named.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: 500 },
    );
  });
});

describe('output variables', () => {
  const ofVariables = (definition: WorkflowDefinition): readonly Finding['code'][] =>
    validate(definition, inspect).map(({ code }) => code);
  const pair = (more: NodeDefinition['config'] = {}) => [
    node('a', 'step', writes('x', more)),
    node('b', 'step', writes('x', more)),
  ];

  test('two parallel writers are rejected', () => {
    expect(ofVariables(workflow([node('s', 'start'), ...pair()], [edge('s', 'a'), edge('s', 'b')]))).toEqual([
      'duplicate_output_variable',
    ]);
  });
  test('a later writer is a warning', () => {
    expect(validate(workflow(pair(), [edge('a', 'b')]), inspect)).toMatchObject([
      { severity: 'warning', code: 'output_variable_rewritten' },
    ]);
  });
  const branches = [edge('f', 'a', { sourceHandle: 'yes' }), edge('f', 'b', { sourceHandle: 'no' })];
  test('writers on exclusive branches are accepted', () => {
    expect(ofVariables(workflow([node('f', 'fork'), ...pair()], branches))).toEqual([]);
  });
  test('unless both may run when the fork itself fails', () => {
    const nodes = [node('f', 'fork'), ...pair({ onParentFailure: 'substitute_default' })];
    expect(ofVariables(workflow(nodes, branches))).toEqual(['duplicate_output_variable']);
  });
  test('a join that fires on the first branch does not wait for an ancestor on another', () => {
    const nodes = [
      node('s', 'start'),
      node('a', 'step', writes('x')),
      node('t'),
      node('j', 'step', writes('x', { joinMode: 'any' })),
    ];
    const edges = [edge('s', 'a'), edge('s', 't'), edge('a', 'j'), edge('t', 'j')];
    expect(ofVariables(workflow(nodes, edges))).toEqual(['duplicate_output_variable']);
  });
});

describe('size', () => {
  const chain = (size: number, edges: number): WorkflowDefinition => {
    const nodes = Array.from({ length: size }, (_, index) => node(`n${index}`, 'step', writes(`v${index % 40}`)));
    const ends = Array.from({ length: edges }, (_, index) => {
      const from = index % (size - 1);
      const to = Math.min(size - 1, from + 1 + Math.floor(index / (size - 1)) * 7);
      return edge(`n${from}`, `n${to}`, { targetParamLabel: `p${index}` });
    });
    return workflow(nodes, ends);
  };

  test('too many nodes or edges are reported alone, with the limit', () => {
    const findings = validate(chain(definitionLimits.nodes + 1, definitionLimits.edges + 1), inspect);
    expect(findings.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      'definition_too_large /nodes',
      'definition_too_large /edges',
    ]);
    expect(findings[0]?.message).toContain(String(definitionLimits.nodes));
  });

  test('a definition at the limits is validated, with all its writers', () => {
    const findings = validate(chain(definitionLimits.nodes, definitionLimits.edges), inspect);
    expect(new Set(findings.map(({ code }) => code))).toEqual(new Set(['output_variable_rewritten']));
  });
});

test('only errors reject a definition', () => {
  const of = (severity: Finding['severity']): Finding => ({ severity, code: 'c', pointer: '', message: '' });
  expect(hasErrors([])).toBe(false);
  expect(hasErrors([of('warning')])).toBe(false);
  expect(hasErrors([of('warning'), of('error')])).toBe(true);
});

test('a budget has whole numbers from one up, each reported at its pointer', () => {
  const validated = (budget: Budget) => found(workflow([node('s', 'start')], [], { budget }));
  expect(validated({})).toEqual([]);
  expect(validated({ maxNodeExecutions: 1, maxTokens: 1_000_000_000 })).toEqual([]);
  expect(validated({ maxNodeExecutions: 0, maxTokens: 1.5 })).toEqual([
    'budget_invalid /options/budget/maxNodeExecutions',
    'budget_invalid /options/budget/maxTokens',
  ]);
  expect(validated({ maxTokens: 1_000_000_001 })).toHaveLength(1);
});

test('the concurrency limit is a whole number up to a thousand', () => {
  const validated = (maxConcurrentRuns: number) => found(workflow([node('s', 'start')], [], { maxConcurrentRuns }));
  expect([validated(1), validated(1_000)]).toEqual([[], []]);
  for (const bad of [0, 1.5, -1, 1_001]) expect(validated(bad)).toEqual(['concurrency_invalid /options/maxConcurrentRuns']);
});

describe('joins after a handled failure', () => {
  /** reserve and charge lead into the approval, and an error edge handles a refused charge */
  const trial = (settings: Readonly<Record<string, NodeDefinition['config']>> = {}, extra: readonly EdgeDefinition[] = []) =>
    found(
      workflow(
        ['start', 'reserve', 'charge', 'approval', 'mail', 'refused'].map((id) =>
          node(id, id === 'start' ? 'start' : id === 'refused' ? 'end' : 'step', settings[id]),
        ),
        [
          edge('start', 'reserve'),
          edge('start', 'charge'),
          edge('reserve', 'approval'),
          edge('charge', 'approval'),
          edge('charge', 'refused', { sourceHandle: 'error' }),
          edge('approval', 'mail'),
          ...extra,
        ],
      ),
    );
  const warned = ['join_runs_after_failure /nodes/3'];

  test('a join that runs without the failed parent is a warning that names both ways out', () => {
    expect(trial()).toEqual(warned);
    const nodes = [node('s', 'start'), node('a'), node('b'), node('join'), node('e', 'end')];
    const edges = [
      edge('s', 'a'),
      edge('s', 'b'),
      edge('a', 'join'),
      edge('b', 'join'),
      edge('b', 'e', { sourceHandle: 'error' }),
    ];
    const [warning] = validate(workflow(nodes, edges), inspect);
    expect(warning?.severity).toBe('warning');
    expect(warning?.message).toMatch(/join also runs when b failed .* allSucceeded on join, .* endsRun true/);
  });

  test.each([
    ['the join needs parents that succeeded', { approval: { joinMode: 'allSucceeded' } }],
    ['the join needs one parent', { approval: { joinMode: 'any' } }],
    ['the error edge leads to an end that ends the run', { refused: { endsRun: true } }],
    ['the failure fails the run', { charge: { errorHandling: 'fail_workflow' } }],
  ])('no warning: %s', (_why, settings) => {
    expect(trial(settings)).toEqual([]);
  });

  test('no warning where the error edge or its handler leads into the join', () => {
    const direct = edge('charge', 'approval', { sourceHandle: 'error' });
    expect(trial({}, [direct])).toEqual([]);
    const nodes = ['s', 'a', 'fetch', 'fallback', 'join'].map((id) => node(id, id === 's' ? 'start' : 'step'));
    const edges = [
      edge('s', 'a'),
      edge('s', 'fetch'),
      edge('a', 'join'),
      edge('fetch', 'join'),
      edge('fetch', 'fallback', { sourceHandle: 'error' }),
      edge('fallback', 'join'),
    ];
    expect(found(workflow(nodes, edges))).toEqual([]);
  });

  test('no warning where only one branch of a condition runs', () => {
    const nodes = [node('s', 'start'), node('f', 'fork'), node('b'), node('join'), node('e', 'end')];
    const edges = [
      edge('s', 'f'),
      edge('f', 'b', { sourceHandle: 'yes' }),
      edge('f', 'join', { sourceHandle: 'no' }),
      edge('b', 'join'),
      edge('b', 'e', { sourceHandle: 'error' }),
    ];
    expect(found(workflow(nodes, edges))).toEqual([]);
  });

  test('a plain end may join branches of which one failed', () => {
    const nodes = [node('s', 'start'), node('a'), node('b'), node('join', 'end'), node('e', 'end')];
    const edges = [
      edge('s', 'a'),
      edge('s', 'b'),
      edge('a', 'join'),
      edge('b', 'join'),
      edge('b', 'e', { sourceHandle: 'error' }),
    ];
    expect(found(workflow(nodes, edges))).toEqual([]);
    const ending = nodes.map((each) => (each.id === 'join' ? node('join', 'end', { endsRun: true }) : each));
    expect(found(workflow(ending, edges))).toEqual(['join_runs_after_failure /nodes/3']);
  });

  test('the warning follows nodes that the failure keeps from running', () => {
    const nodes = ['s', 'a', 'b', 'c', 'd', 'join', 'e'].map((id) => node(id, id === 's' ? 'start' : 'step'));
    const edges = [
      edge('s', 'a'),
      edge('s', 'b'),
      edge('a', 'join'),
      edge('b', 'c'),
      edge('c', 'd'),
      edge('d', 'join'),
      edge('b', 'e', { sourceHandle: 'error' }),
    ];
    expect(found(workflow(nodes, edges))).toEqual(['join_runs_after_failure /nodes/5']);
  });

  test('an error edge into a join that needs successes has no effect', () => {
    const direct = edge('charge', 'approval', { sourceHandle: 'error' });
    expect(trial({ approval: { joinMode: 'allSucceeded' } }, [direct])).toEqual(['error_edge_never_taken /edges/6/sourceHandle']);
  });
});
