/** docs/CLIENT.md documents every method of the client. */
import { expect, test } from 'vitest';
import { StepwellClient } from '../../lib/client/index.ts';
import { read } from './documents.ts';

const text = read('docs/CLIENT.md');
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1', apiKey: 'none' });

/** Methods of an object and its prototypes. */
const methodsOf = (given: object): readonly string[] => {
  const prototype: unknown = Object.getPrototypeOf(given);
  if (typeof prototype !== 'object' || prototype === null || prototype === Object.prototype) return [];
  return [...Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor'), ...methodsOf(prototype)];
};

const parts = Object.entries(client).filter((entry): entry is [string, object] => typeof entry[1] === 'object');

test.each([
  ...methodsOf(client).map((name) => [name]),
  ...parts.flatMap(([part, calls]) => methodsOf(calls).map((name) => [`${part}.${name}`])),
])('%s', (name) => {
  expect(text).toContain(`\`${name}(`);
});

test('the client has all its parts', () => {
  expect(methodsOf(client).length).toBeGreaterThan(35);
  expect(parts.map(([part]) => part).toSorted()).toEqual(['lenses', 'queries', 'runs', 'schedules']);
});
