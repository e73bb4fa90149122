/** Pinned outputs of a test run: which nodes can be pinned, the findings for others, and the lookup by node. */
import { describe, expect, test } from 'vitest';
import type { NodeDefinition } from '../../../lib/engine/graph/definition.ts';
import type { InspectNode } from '../../../lib/engine/graph/inspection.ts';
import { type PinnedOutputs, checkPinnedOutputs, pinnedOutputsById } from '../../../lib/engine/graph/pinned-outputs.ts';
import { nodeId } from '../../../lib/engine/ids.ts';

const node = (id: string, type: string): NodeDefinition => ({ id: nodeId(id), type, config: {} });
const nodes = [node('ask', 'http'), node('choose', 'condition'), node('stop', 'end'), node('riddle', 'unknown')];

const handles: Readonly<Record<string, readonly string[]>> = { http: ['output', 'error'], condition: ['true', 'false'], end: [] };
const inspect: InspectNode = ({ type }) => {
  const known = handles[type];
  return known === undefined
    ? { findings: [{ code: 'node_type_unknown', pointer: '/type', message: 'no such type' }] }
    : { findings: [], facts: { policy: { joinMode: 'all', onParentFailure: 'skip' }, handles: known, isTrigger: false } };
};
const found = (pins: PinnedOutputs) =>
  checkPinnedOutputs({ nodes }, pins, inspect).map(({ code, pointer, message }) => [code, pointer, message]);

describe('a pin is rejected', () => {
  test('for a node that does not exist', () => {
    expect(found({ missing: { output: 1 } })).toEqual([['pinned_node_unknown', '/pinned/missing', 'no node has the id missing']]);
  });

  test('for a handle that its node lacks, and the known handles are named', () => {
    expect(found({ choose: { output: 1, handle: 'maybe' } })).toEqual([
      ['unknown_handle', '/pinned/choose', 'choose has no handle maybe: it has true, false'],
    ]);
  });

  test('for the main handle by default, if the node has only others', () => {
    expect(found({ choose: { output: 1 } })).toEqual([
      ['unknown_handle', '/pinned/choose', 'choose has no handle output: it has true, false'],
    ]);
  });

  test('for a node that ends its branch', () => {
    expect(found({ stop: { output: 1 } })).toEqual([
      ['unknown_handle', '/pinned/stop', 'stop has no handle output: it has no handles'],
    ]);
  });

  test('and all rejected pins are reported together', () => {
    expect(found({ missing: { output: 1 }, ask: { output: 1 }, stop: { output: 1 } }).map(([, place]) => place)).toEqual([
      '/pinned/missing',
      '/pinned/stop',
    ]);
  });
});

describe('a pin is accepted', () => {
  test.each<[string, PinnedOutputs]>([
    ['for the main handle, given or by default', { ask: { output: 1 } }],
    ['for any other handle of its node', { ask: { output: 1, handle: 'error' }, choose: { output: null, handle: 'false' } }],
    ['for the main handle by its alias', { ask: { output: 1, handle: 'success' } }],
    ['for a node whose type reports no handles', { riddle: { output: 1, handle: 'any' } }],
  ])('%s', (_how, pins) => {
    expect(found(pins)).toEqual([]);
  });
});

test('pins are found by node id, and a node without a pin has none', () => {
  const ask = { output: { status: 200 } };
  const pinned = pinnedOutputsById(
    { nodes: [...nodes, node('constructor', 'http')] },
    { choose: { output: null, handle: 'true' }, ask },
  );
  expect([...pinned]).toEqual([
    ['ask', ask],
    ['choose', { output: null, handle: 'true' }],
  ]);
});
