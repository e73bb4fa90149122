/** Findings about loops, and the loop body of each node in a valid definition. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../lib/engine/graph/compile.ts';
import type { EdgeDefinition, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { validate } from '../../lib/engine/graph/validate.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import { inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';

const configs: Readonly<Record<string, NodeDefinition['config']>> = {
  loop: { sourceVariable: '{{ctx.input.items}}' },
  javascript: { code: 'return 1' },
};

/** `'start -> l/loop -> w'`; a node's first letter is its type. */
function drawn(drawing: readonly string[], more: Readonly<Record<string, NodeDefinition['config']>> = {}): WorkflowVersion {
  const edges = drawing.flatMap((line) => {
    const stops = line.split(' -> ');
    return stops.slice(1).map((to, at): EdgeDefinition => {
      const [source = '', sourceHandle] = (stops[at] ?? '').split('/');
      const [target = ''] = to.split('/');
      return { source: nodeId(source), target: nodeId(target), ...(sourceHandle === undefined ? {} : { sourceHandle }) };
    });
  });
  const types: Readonly<Record<string, string>> = { s: 'start', e: 'end', l: 'loop' };
  const nodes = [...new Set(edges.flatMap(({ source, target }) => [source, target]))].map((id): NodeDefinition => {
    const type = types[id.slice(0, 1)] ?? 'javascript';
    return { id, type, config: { ...configs[type], ...more[id] } };
  });
  return { name: workflowName('w'), version: 1, nodes, edges, options: {} };
}

const found = (definition: WorkflowVersion): readonly string[] =>
  validate(definition, inspectNode).map(({ code, pointer }) => `${code} ${pointer}`);

const bodies = (definition: WorkflowVersion): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries([...compile(definition, termsOf).nodes.values()].map(({ id, loop }) => [id, loop]));

describe('a body', () => {
  test.each([
    ['one node', ['s -> l', 'l/loop -> w', 'l/done -> e'], { w: 'l' }],
    ['with an edge back', ['s -> l', 'l/loop -> w -> l', 'l/done -> e'], { w: 'l' }],
    ['of a loop whose only inbound edge comes from its body', ['l/loop -> w -> l', 'l/done -> x'], { w: 'l' }],
    ['with the alias of done', ['s -> l', 'l/loop -> w', 'l/completed -> e'], { w: 'l' }],
    [
      'of a nested loop',
      ['s -> l', 'l/loop -> lb', 'lb/loop -> w -> lb', 'lb/done -> x -> l', 'l/done -> e'],
      { lb: 'l', w: 'lb', x: 'l' },
    ],
    ['of one loop after another', ['s -> l', 'l/loop -> w', 'l/done -> lb', 'lb/loop -> x', 'lb/done -> e'], { w: 'l', x: 'lb' }],
    ['with error edges', ['s -> l', 'l/loop -> w', 'w/error -> x', 'l/error -> y -> e', 'l/done -> e'], { w: 'l', x: 'l' }],
  ] as const)('%s', (_name, drawing, inside) => {
    const definition = drawn(drawing);
    expect(found(definition)).toEqual([]);
    expect(Object.fromEntries(Object.entries(bodies(definition)).filter(([, loop]) => loop !== undefined))).toEqual(inside);
  });
});

describe('one finding each', () => {
  test.each([
    ['an edge out of the body', ['s -> l', 'l/loop -> w -> x', 'l/done -> x'], ['edge_crosses_loop /edges/2']],
    ['an edge into the body', ['s -> l', 'l/loop -> w -> x', 's -> x', 'l/done -> e'], ['edge_crosses_loop /edges/2']],
    ['a body that is also behind done', ['s -> l', 'l/loop -> x', 'l/done -> x'], ['edge_crosses_loop /edges/1']],
    [
      'an edge back to the loop from outside its body',
      ['s -> l', 'l/loop -> lb', 'lb/loop -> w -> l', 'lb/done -> x', 'l/done -> e'],
      ['edge_crosses_loop /edges/3'],
    ],
    ['no body', ['s -> l', 'l/done -> e'], ['loop_without_body /nodes/1']],
    ['an end in the body', ['s -> l', 'l/loop -> e', 'l/done -> x'], ['end_in_loop /nodes/2']],
    ['a cycle inside the body', ['s -> l', 'l/loop -> w -> x -> w', 'l/done -> e'], ['cycle_detected /nodes/2']],
    ['an edge back from a node behind done', ['s -> l', 'l/loop -> w', 'l/done -> x -> l'], ['cycle_detected /nodes/1']],
    ['an unknown handle', ['s -> l', 'l/loop -> w', 'l -> e'], ['unknown_handle /edges/2']],
    [
      'six nested loops',
      ['s -> l', 'l/loop -> l1', 'l1/loop -> l2', 'l2/loop -> l3', 'l3/loop -> l4', 'l4/loop -> l5', 'l5/loop -> w'],
      ['loop_too_deep /nodes/6'],
    ],
  ] as const)('%s', (_name, drawing, expected) => {
    expect(found(drawn(drawing))).toEqual(expected);
  });

  test.each([
    ['a source that is text', { sourceVariable: 'orders' }, 'config_invalid /nodes/1/config/sourceVariable'],
    ['a source with text around it', { sourceVariable: 'all {{ctx.a}}' }, 'config_invalid /nodes/1/config/sourceVariable'],
    ['two sources', { sourceVariable: '{{ctx.a}}{{ctx.b}}' }, 'config_invalid /nodes/1/config/sourceVariable'],
    [
      'the same name for item and index',
      { itemVariable: 'x', indexVariable: 'x' },
      'config_invalid /nodes/1/config/indexVariable',
    ],
    ['a reserved name', { itemVariable: 'input' }, 'reserved_name /nodes/1/config/itemVariable'],
    ['too many iterations', { maxIterations: 100_001 }, 'config_invalid /nodes/1/config/maxIterations'],
    ['too much concurrency', { concurrency: 1_001 }, 'config_invalid /nodes/1/config/concurrency'],
    ['too long a delay', { delayBetweenItems: 60_001 }, 'config_invalid /nodes/1/config/delayBetweenItems'],
    ['an unknown policy', { onItemFailure: 'retry' }, 'config_invalid /nodes/1/config/onItemFailure'],
  ] as const)('%s', (_name, config, expected) => {
    expect(found(drawn(['s -> l', 'l/loop -> w', 'l/done -> e'], { l: config }))).toContain(expected);
  });
});

test('a body and the graph around it may write one variable, and two parallel nodes of a body may not', () => {
  const writes = { outputVariable: 'mine' };
  expect(found(drawn(['s -> w -> l', 'l/loop -> x', 'l/done -> y -> e'], { w: writes, x: writes }))).toEqual([]);
  expect(found(drawn(['s -> l', 'l/loop -> x', 'l/loop -> y', 'l/done -> e'], { x: writes, y: writes }))).toEqual([
    'duplicate_output_variable /nodes/3/config/outputVariable',
  ]);
});
