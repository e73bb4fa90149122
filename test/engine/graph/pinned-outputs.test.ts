/** Outputs that a test of a workflow pins: which may be pinned, what is said of the others, and whose they are. */
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

describe('a pin is refused', () => {
  test('of a node that is not there', () => {
    expect(found({ nobody: { output: 1 } })).toEqual([['pinned_node_unknown', '/pinned/nobody', 'no node has the id nobody']]);
  });

  test('to a way out that its node has not, and the ways that it has are named', () => {
    expect(found({ choose: { output: 1, handle: 'maybe' } })).toEqual([
      ['unknown_handle', '/pinned/choose', 'choose has no handle maybe: it has true, false'],
    ]);
  });

  test('to the main way out, unsaid, of a node that has others alone', () => {
    expect(found({ choose: { output: 1 } })).toEqual([
      ['unknown_handle', '/pinned/choose', 'choose has no handle output: it has true, false'],
    ]);
  });

  test('of a node that ends its branch', () => {
    expect(found({ stop: { output: 1 } })).toEqual([
      ['unknown_handle', '/pinned/stop', 'stop has no handle output: it has no handles'],
    ]);
  });

  test('and all that are refused are told at once', () => {
    expect(found({ nobody: { output: 1 }, ask: { output: 1 }, stop: { output: 1 } }).map(([, place]) => place)).toEqual([
      '/pinned/nobody',
      '/pinned/stop',
    ]);
  });
});

describe('a pin is taken', () => {
  test.each<[string, PinnedOutputs]>([
    ['to the main way out, said or not', { ask: { output: 1 } }],
    ['to any other way out of its node', { ask: { output: 1, handle: 'error' }, choose: { output: null, handle: 'false' } }],
    ['to the main way out by its other name', { ask: { output: 1, handle: 'success' } }],
    ['of a node whose type says nothing of its ways out', { riddle: { output: 1, handle: 'any' } }],
  ])('%s', (_how, pins) => {
    expect(found(pins)).toEqual([]);
  });
});

test('pins are known by the ids of their nodes, and a node that nobody pins has none', () => {
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
