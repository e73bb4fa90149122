/** Every setting of docs/DEPLOY.md is taken as the page shows it: in cdk.json, and as text on the command line. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/DEPLOY.md');
const rows = rowsIn(text).filter(({ section }) => section === 'Settings');
const documented = rows.flatMap(({ cells: [name = ''] }) => quotedIn(name));

interface Example {
  readonly name: string;
  readonly value: unknown;
}

/** `-c stepwell:domain='{ … }'`: the shell takes the quotes away. */
const given = /^-c stepwell:([a-zA-Z]+)=(?:'(.*)'|([^' ]*))$/;
const onCommandLine: readonly Example[] = quotedIn(text).flatMap((code): readonly Example[] => {
  const [, name, quoted, plain] = given.exec(code) ?? [];
  return name === undefined ? [] : [{ name, value: quoted ?? plain }];
});

const parse = (code: string): unknown => {
  try {
    return JSON.parse(code);
  } catch {
    return undefined;
  }
};
const blocks = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => block);
const inContext: readonly Example[] = [...blocks, ...quotedIn(text)].flatMap((code) =>
  Object.entries(z.record(z.string(), z.unknown()).safeParse(parse(code)).data ?? {})
    .filter(([key]) => key.startsWith('stepwell:'))
    .map(([key, value]) => ({ name: key.slice('stepwell:'.length), value })),
);

const taken = ({ name, value }: Example): unknown =>
  Object.entries(parseSettings({ [`stepwell:${name}`]: value })).find(([key]) => key === name)?.[1];

test('every setting has an example, and no example is of another', () => {
  const shown = new Set([...onCommandLine, ...inContext].map(({ name }) => name));
  expect([...shown].toSorted()).toEqual(documented.toSorted());
});

describe('the command line', () => {
  test.each(onCommandLine)('takes $name=$value', (example) => {
    expect(taken(example)).toBeDefined();
  });
});

describe('cdk.json', () => {
  test.each(inContext)('takes $name, and the command line takes the same as text', ({ name, value }) => {
    const setting = taken({ name, value });
    expect(setting).toBeDefined();
    expect(taken({ name, value: JSON.stringify(value) })).toEqual(setting);
  });
});

test('text that is no JSON is refused by the name of its setting', () => {
  expect(() => parseSettings({ 'stepwell:domain': '{name: flows.example.com}' })).toThrow(/must be JSON[\s\S]*domain/);
  expect(() => parseSettings({ 'stepwell:memoryMb': '{"worker":"much"}' })).toThrow(/memoryMb/);
  expect(() => parseSettings({ 'stepwell:memoryMb': 'much' })).toThrow(/memoryMb/);
});
