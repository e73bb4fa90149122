/** Validation compares declared waits with a declared deadline. */
import { expect, test } from 'vitest';
import { validate } from '../../lib/engine/graph/validate.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';

const findingsOf = (type: string, config: JsonObject, deadlineSeconds?: number) => {
  const nodes = [
    { id: nodeId('start'), type: 'start', config: {} },
    { id: nodeId('wait'), type, config },
  ];
  const edges = [{ source: nodeId('start'), target: nodeId('wait') }];
  const options = deadlineSeconds === undefined ? {} : { deadlineSeconds };
  return validate({ name: workflowName('flow'), nodes, edges, options }, inspectNode);
};

test.each([
  ['delay', { delayMinutes: 525_600 }],
  ['signal', { name: 'approved', expiresInSeconds: 31_536_000 }],
  ['subflow', { workflowName: 'child', expiresInSeconds: 31_536_000 }],
])('a %s of 365 days is a warning only under a shorter declared deadline', (type, config) => {
  expect(findingsOf(type, config, 604_800)).toMatchObject([
    { severity: 'warning', code: 'wait_exceeds_deadline', pointer: '/nodes/1/config' },
  ]);
  expect(findingsOf(type, config, 31_536_000)).toEqual([]);
  expect(findingsOf(type, config)).toEqual([]);
});
