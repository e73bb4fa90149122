/** docs/CONFORMANCE.md lists each topology under its heading with its description. */
import { expect, test } from 'vitest';
import { read, rowsIn } from '../docs/documents.ts';
import { allTopologies, families } from './topologies/all.ts';

test('the document lists every topology under its heading, in order, and nothing else', () => {
  const rows = rowsIn(read('docs/CONFORMANCE.md')).map(({ section, cells: [name, says] }) => [section, name, says]);
  const expected = Object.entries(families).flatMap(([heading, topologies]) =>
    topologies.map(({ name, description }) => [heading, `\`${name}\``, description]),
  );
  expect(rows).toEqual(expected);
});

test('the document has the number of topologies', () => {
  expect(read('docs/CONFORMANCE.md')).toContain(`${allTopologies.length} topologies`);
});

test('the stress test has twelve topologies, and at least thirty others exist', () => {
  const [stress, ...others] = Object.values(families);
  expect(stress).toHaveLength(12);
  expect(others.flat().length).toBeGreaterThanOrEqual(30);
  for (const { description } of allTopologies) expect(description).toMatch(/^[A-Z].*\.$/);
});
