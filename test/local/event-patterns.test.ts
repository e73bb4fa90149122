/** The pattern language of EventBridge: what a pattern matches, and which patterns EventBridge refuses. */
import { describe, expect, test } from 'vitest';
import { compilePattern } from '../../lib/local/events/pattern.ts';

const event = {
  version: '0',
  id: '7bf73129-1428-4cd3-a780-95db273d1602',
  'detail-type': 'Object Created',
  source: 'aws.s3',
  time: '2026-11-28T20:00:00Z',
  region: 'us-east-1',
  resources: ['arn:aws:s3:::in', 'arn:aws:s3:::out'],
  detail: {
    bucket: { name: 'in' },
    object: { key: 'orders/2026/a*b.CSV', size: 300, etag: '' },
    state: 'running',
    user: null,
    retried: false,
    address: '10.0.0.33',
    address6: '2001:db8::1',
    load: -0.5,
    huge: 6e9,
    tags: ['red', ['green'], 7, null],
    none: [],
    items: [
      { sku: 'a', count: 1 },
      { sku: 'b', count: 2, note: 'late' },
    ],
    deep: [[{ sku: 'x' }], [{ sku: 'y', count: 9 }]],
  },
};

const detail = (pattern: object): boolean => compilePattern({ detail: pattern })(event);

describe('the envelope', () => {
  test.each([
    [{ source: ['aws.s3'], 'detail-type': ['Object Created', 'Object Deleted'] }, true],
    [{ source: ['aws.s3'], 'detail-type': ['Object Deleted'] }, false],
    [{ resources: ['arn:aws:s3:::out'] }, true],
    [{ resources: ['arn:aws:s3:::other'] }, false],
    [{ resources: [{ suffix: ':in' }] }, true],
    [{ region: ['us-east-1'], time: [{ prefix: '2026-11-28' }] }, true],
    [{ 'replay-name': [{ exists: false }] }, true],
  ])('%j matches: %s', (pattern, matches) => {
    expect(compilePattern(pattern)(event)).toBe(matches);
  });
});

describe('a field', () => {
  test.each([
    // literals
    [{ state: ['running'] }, true],
    [{ state: ['stopped', 'running'] }, true],
    [{ state: ['RUNNING'] }, false],
    [{ user: [null] }, true],
    [{ state: [null] }, false],
    [{ missing: [null] }, false],
    [{ retried: [false] }, true],
    [{ retried: ['false'] }, false],
    [{ retried: [true] }, false],
    [{ object: { size: [300] } }, true],
    [{ object: { size: ['300'] } }, false],
    [{ object: { etag: [''] } }, true],
    [{ state: [''] }, false],
    // nested objects
    [{ bucket: { name: ['in'] }, object: { key: [{ prefix: 'orders/' }] } }, true],
    [{ bucket: { name: ['in'] }, object: { key: [{ prefix: 'invoices/' }] } }, false],
    [{ bucket: ['in'] }, false],
    [{ state: { name: ['running'] } }, false],
    // prefix and suffix
    [{ object: { key: [{ prefix: 'ORDERS/' }] } }, false],
    [{ object: { key: [{ prefix: { 'equals-ignore-case': 'ORDERS/' } }] } }, true],
    [{ object: { key: [{ suffix: '.csv' }] } }, false],
    [{ object: { key: [{ suffix: '.CSV' }] } }, true],
    [{ object: { key: [{ suffix: { 'equals-ignore-case': '.csv' } }] } }, true],
    [{ object: { size: [{ prefix: '3' }] } }, false],
    [{ state: [{ 'equals-ignore-case': 'RunNing' }] }, true],
    [{ state: [{ 'equals-ignore-case': 'Run' }] }, false],
    // wildcard
    [{ state: [{ wildcard: 'running' }] }, true],
    [{ state: [{ wildcard: 'run' }] }, false],
    [{ state: [{ wildcard: '*' }] }, true],
    [{ state: [{ wildcard: 'r*n*g' }] }, true],
    [{ state: [{ wildcard: 'run*running' }] }, false],
    [{ state: [{ wildcard: 'running*' }] }, true],
    [{ state: [{ wildcard: '*ing*ing' }] }, false],
    [{ object: { key: [{ wildcard: 'orders/*.CSV' }] } }, true],
    [{ object: { key: [{ wildcard: 'orders/*/a\\*b.*' }] } }, true],
    [{ object: { key: [{ wildcard: 'orders/*/a\\*c.*' }] } }, false],
    [{ object: { size: [{ wildcard: '*' }] } }, false],
    // anything-but
    [{ state: [{ 'anything-but': 'stopped' }] }, true],
    [{ state: [{ 'anything-but': 'running' }] }, false],
    [{ state: [{ 'anything-but': ['stopped', 'running'] }] }, false],
    [{ object: { size: [{ 'anything-but': 300 }] } }, false],
    [{ object: { size: [{ 'anything-but': [100, 200] }] } }, true],
    [{ object: { size: [{ 'anything-but': '300' }] } }, true],
    [{ missing: [{ 'anything-but': 'stopped' }] }, false],
    [{ user: [{ 'anything-but': 'stopped' }] }, true],
    [{ state: [{ 'anything-but': { prefix: 'run' } }] }, false],
    [{ state: [{ 'anything-but': { prefix: 'stop' } }] }, true],
    [{ state: [{ 'anything-but': { prefix: ['stop', 'run'] } }] }, false],
    [{ object: { key: [{ 'anything-but': { suffix: '.CSV' } }] } }, false],
    [{ object: { key: [{ 'anything-but': { suffix: ['.txt', '.json'] } }] } }, true],
    [{ state: [{ 'anything-but': { 'equals-ignore-case': 'RUNNING' } }] }, false],
    [{ state: [{ 'anything-but': { 'equals-ignore-case': ['STOPPED', 'FAILED'] } }] }, true],
    [{ object: { key: [{ 'anything-but': { wildcard: 'orders/*' } }] } }, false],
    [{ object: { key: [{ 'anything-but': { wildcard: '*/lib/*' } }] } }, true],
    // numeric
    [{ object: { size: [{ numeric: ['=', 3e2] }] } }, true],
    [{ object: { size: [{ numeric: ['<', 300] }] } }, false],
    [{ object: { size: [{ numeric: ['<=', 300] }] } }, true],
    [{ object: { size: [{ numeric: ['>', 300] }] } }, false],
    [{ object: { size: [{ numeric: ['>=', 300] }] } }, true],
    [{ object: { size: [{ numeric: ['>', 0, '<=', 300] }] } }, true],
    [{ object: { size: [{ numeric: ['>', 0, '<', 300] }] } }, false],
    [{ load: [{ numeric: ['<', 0] }] }, true],
    [{ state: [{ numeric: ['>', 0] }] }, false],
    [{ huge: [{ numeric: ['>', 0] }] }, false],
    [{ huge: [6e9] }, true],
    // exists
    [{ state: [{ exists: true }] }, true],
    [{ user: [{ exists: true }] }, true],
    [{ state: [{ exists: false }] }, false],
    [{ missing: [{ exists: true }] }, false],
    [{ missing: [{ exists: false }] }, true],
    [{ bucket: [{ exists: true }] }, false],
    [{ bucket: [{ exists: false }] }, true],
    [{ missing: { deeper: [{ exists: false }] } }, true],
    [{ none: [{ exists: false }] }, true],
    [{ missing: ['x', { exists: false }] }, true],
    // cidr
    [{ address: [{ cidr: '10.0.0.0/24' }] }, true],
    [{ address: [{ cidr: '10.0.1.0/24' }] }, false],
    [{ address6: [{ cidr: '2001:db8::/32' }] }, true],
    [{ address6: [{ cidr: '10.0.0.0/8' }] }, false],
    [{ state: [{ cidr: '10.0.0.0/8' }] }, false],
    // arrays in the event
    [{ tags: ['red'] }, true],
    [{ tags: ['green'] }, true],
    [{ tags: [7] }, true],
    [{ tags: ['blue'] }, false],
    [{ tags: [{ 'anything-but': 'red' }] }, true],
    [{ items: { sku: ['b'] } }, true],
    [{ items: { sku: ['b'], count: [2] } }, true],
    [{ items: { sku: ['a'], count: [2] } }, false],
    [{ items: { note: [{ exists: false }] } }, false],
    [{ deep: { sku: ['y'], count: [9] } }, true],
    [{ deep: { sku: ['x'], count: [9] } }, false],
    // $or
    [{ $or: [{ state: ['stopped'] }, { object: { size: [300] } }] }, true],
    [{ $or: [{ state: ['stopped'] }, { object: { size: [1] } }] }, false],
    [{ bucket: { name: ['in'] }, $or: [{ state: ['running'] }, { missing: ['x'] }] }, true],
    [{ bucket: { name: ['out'] }, $or: [{ state: ['running'] }, { missing: ['x'] }] }, false],
    [{ object: { $or: [{ size: [1] }, { key: [{ prefix: 'orders/' }] }] } }, true],
    [{ $or: [{ state: ['stopped'] }, { bucket: { name: ['in'] }, $or: [{ retried: [true] }, { user: [null] }] }] }, true],
    [{ items: { sku: ['a'], $or: [{ count: [2] }, { note: ['late'] }] } }, false],
    // names of objects' own methods are fields like others
    [{ constructor: [{ exists: false }] }, true],
    [{ toString: ['x'] }, false],
  ])('%j matches: %s', (pattern, matches) => {
    expect(detail(pattern)).toBe(matches);
  });
});

describe('EventBridge refuses a pattern', () => {
  test.each([
    [undefined, 'not an object'],
    ['{}', 'not an object'],
    [{}, 'Empty objects are not allowed'],
    [{ detail: {} }, 'Empty objects are not allowed'],
    [{ source: [] }, 'source: Empty arrays are not allowed'],
    [{ source: 'aws.s3' }, '"source" must be an object or an array'],
    [{ detail: { state: 1 } }, '"detail.state" must be an object or an array'],
    [{ source: [['a']] }, 'Match value must be'],
    [{ source: [{}] }, 'Match expression name not found'],
    [{ source: [{ contains: 'a' }] }, 'source: Unrecognized match type contains'],
    [{ source: [{ toString: 'a' }] }, 'Unrecognized match type toString'],
    [{ source: [{ prefix: 'a', suffix: 'b' }] }, 'Only one key allowed'],
    [{ source: [{ prefix: 1 }] }, 'prefix match pattern must be a string'],
    [{ source: [{ prefix: { wildcard: 'a*' } }] }, 'Unsupported prefix pattern'],
    [{ source: [{ 'equals-ignore-case': ['a'] }] }, 'must be a string'],
    [{ source: [{ wildcard: 'a**b' }] }, 'Consecutive wildcard'],
    [{ source: [{ wildcard: 'a\\b' }] }, 'Invalid escape'],
    [{ source: [{ wildcard: 'a\\' }] }, 'Invalid escape'],
    [{ source: [{ 'anything-but': [] }] }, 'Inside anything but list'],
    [{ source: [{ 'anything-but': ['a', 1] }] }, 'mixed type is not supported'],
    [{ source: [{ 'anything-but': null }] }, 'Inside anything but list'],
    [{ source: [{ 'anything-but': { numeric: ['>', 1] } }] }, 'Unsupported anything-but pattern'],
    [{ source: [{ 'anything-but': { prefix: '' } }] }, 'Null prefix not allowed'],
    [{ source: [{ 'anything-but': { suffix: [] } }] }, 'Empty arrays are not allowed'],
    [{ source: [{ numeric: '>' }] }, 'must be an array'],
    [{ source: [{ numeric: [] }] }, 'Unrecognized numeric range operator'],
    [{ source: [{ numeric: ['!=', 1] }] }, 'Unrecognized numeric range operator'],
    [{ source: [{ numeric: ['>', '1'] }] }, 'must be numeric'],
    [{ source: [{ numeric: ['>', 6e9] }] }, 'must be numeric'],
    [{ source: [{ numeric: ['<', 1, '>', 0] }] }, 'Bad numeric range'],
    [{ source: [{ numeric: ['>', 5, '<', 1] }] }, 'Bottom must be less than top'],
    [{ source: [{ exists: 'yes' }] }, 'must be either true or false'],
    [{ source: [{ cidr: '10.0.0.0' }] }, 'Malformed CIDR'],
    [{ source: [{ cidr: '10.0.0.0/33' }] }, 'Malformed CIDR'],
    [{ source: [{ cidr: '2001:db8::/129' }] }, 'Malformed CIDR'],
    [{ source: [{ cidr: 'ten/8' }] }, 'Malformed CIDR'],
    [{ $or: { source: ['a'] } }, 'must be an Array'],
    [{ $or: [{ source: ['a'] }] }, 'at least 2 Objects'],
    [{ $or: [{ source: ['a'] }, 'b'] }, 'Only JSON object is allowed'],
    [{ $or: [{ prefix: ['a'] }, { source: ['b'] }] }, 'reserved field name'],
    [{ source: ['x'.repeat(2_034)] }, 'it has 2049 characters'],
  ])('%j', (pattern, reason) => {
    expect(() => compilePattern(pattern)).toThrow(reason);
  });

  test('but none of 2,048 characters', () => {
    expect(compilePattern({ source: ['x'.repeat(2_033)] })(event)).toBe(false);
  });
});
