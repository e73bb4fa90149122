/** docs/API.md names every route with its scope, and every error code as the catalogue has it. */
import { describe, expect, test } from 'vitest';
import { errorCatalogue, errorCodes } from '../../lib/api/errors.ts';
import { routes } from '../../lib/api/routes.ts';
import { read, rowsIn } from './documents.ts';

const text = read('docs/API.md');
const categoryNames = { caller: 'caller', key: 'key owner', temporary: 'temporary', service: 'service' } as const;

test('every code, with its status, its message and its category', () => {
  const rows = rowsIn(text).filter(({ section }) => section === 'Errors');
  expect(rows.map(({ cells }) => cells)).toEqual(
    errorCodes.map((code) => {
      const { status, category, message } = errorCatalogue[code];
      return [`\`${code}\``, String(status), categoryNames[category], message];
    }),
  );
});

test('every route has a heading, and no heading is of another', () => {
  const headings = [...text.matchAll(/^### ([A-Z]+ \/.+)$/gm)].map(([, heading = '']) => heading);
  expect(headings.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
});

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route.scope] as const))('%s', (heading, scope) => {
  const section = text.slice(text.indexOf(`### ${heading}\n`)).split(/\n##+ /)[0] ?? '';
  test('says which scope it needs', () => {
    expect(section).toContain(scope === null ? 'No key.' : `cope \`${scope}\``);
  });
  test('has a line to paste', () => {
    expect(section).toContain('curl -s');
  });
});
