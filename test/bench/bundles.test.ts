/** Each handler stays within a size limit, which bounds its cold start. The synthesis of the product has bundled them. */
import { expect, test } from 'vitest';
import { sizesOf, maxBytesOf } from '../../bench/bundles.ts';
import { functionNames } from '../../lib/contract/environment.ts';
import { bundleDirectory } from '../../scripts/build-functions.ts';
import { read } from '../docs/documents.ts';

const sizes = sizesOf(bundleDirectory, functionNames);

/** A bundle below this lacks its code. The console reads files and has no adapters. */
const minBytesOf = (name: (typeof functionNames)[number]): number => (name === 'console' ? 5_000 : 100_000);

test.each(functionNames)('the handler of %s is within its limit', (name) => {
  const size = sizes.find((one) => one.name === name);
  expect(size?.handlerBytes).toBeGreaterThan(minBytesOf(name));
  expect(size?.handlerBytes).toBeLessThanOrEqual(maxBytesOf(name));
});

test('a limit is at most a quarter above the current size', () => {
  for (const { name, handlerBytes } of sizes) {
    if (maxBytesOf(name) > maxBytesOf('sweep')) expect(maxBytesOf(name), name).toBeLessThan(handlerBytes * 1.25);
  }
});

test('docs/BENCH.md states the limits', () => {
  const megabytes = (name: (typeof functionNames)[number]): string => `${maxBytesOf(name) / 1_048_576} MB`;
  const sentence = `it may have ${megabytes('sweep')}, the worker's ${megabytes('worker')} and the code function's ${megabytes('code')}`;
  expect(read('docs/BENCH.md')).toContain(sentence);
});
