/** Errors of the library in the format of all failures. */
import { expect, test } from 'vitest';
import { externalFailure } from '../../../lib/engine/external/failure.ts';

test('the code is that of the error, else its name', () => {
  expect(externalFailure({ message: 'no', name: 'BadError', code: 'declined' })).toEqual({
    cause: 'error',
    message: 'no',
    code: 'declined',
    details: {},
  });
  expect(externalFailure({ message: 'no', name: 'BadError' })).toMatchObject({ code: 'BadError' });
  expect(externalFailure({ message: 'no', name: 'Error' })).toEqual({ cause: 'error', message: 'no', details: {} });
  expect(externalFailure({ message: 'no', name: 7, code: '' })).not.toHaveProperty('code');
});

test('other fields are details, and null fields are not', () => {
  expect(externalFailure({ message: 'no', status: 402, cause: null }).details).toEqual({ status: 402 });
});

test('the first line of the program is named, beside the first frames', () => {
  const stack = [
    'BadError: no',
    '    at node:internal/timers:1:2',
    '    at retry (/app/node_modules/openworkflow/dist/worker.js:3:4)',
    '    at async charge (file:///app/src/charge.ts?v=2:12:34)',
    ...Array.from({ length: 20 }, (_, at) => `    at deep${at} (/app/deep.ts:${at}:1)`),
  ].join('\n');
  const { details } = externalFailure({ message: 'no', stack });
  expect(details?.['at']).toBe('/app/src/charge.ts:12:34');
  expect(details?.['stack']).toMatch(/^(?:at .*\n){9}at .*$/);
});

test.each([undefined, '', 'no frames', 7, { at: 'x' }])('a stack that is %j names no line', (stack) => {
  const { details } = externalFailure({ message: 'no', ...(stack !== undefined && { stack }) });
  expect(details).toEqual({});
});

test('the deadline of the library has the code of other deadlines', () => {
  expect(externalFailure({ message: 'Workflow run deadline exceeded' })).toMatchObject({
    cause: 'timeout',
    code: 'deadline_exceeded',
  });
});
