/** docs/API.md documents every route with its scope, and every error code of the catalogue. */
import { describe, expect, test } from 'vitest';
import { errorCatalogue, errorCodes } from '../../lib/api/errors.ts';
import { routes } from '../../lib/api/routes.ts';
import { read, rowsIn } from './documents.ts';

const text = read('docs/API.md');
const categoryNames = { caller: 'caller', key: 'key owner', temporary: 'temporary', service: 'service' } as const;

test('documents every error code with its status, category and message', () => {
  const rows = rowsIn(text).filter(({ section }) => section === 'Errors');
  expect(rows.map(({ cells }) => cells)).toEqual(
    errorCodes.map((code) => {
      const { status, category, message } = errorCatalogue[code];
      return [`\`${code}\``, String(status), categoryNames[category], message];
    }),
  );
});

test('every route has a heading, and every heading has a route', () => {
  const headings = [...text.matchAll(/^### ([A-Z]+ \/.+)$/gm)].map(([, heading = '']) => heading);
  expect(headings.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
});

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route.scope] as const))('%s', (heading, scope) => {
  const section = text.slice(text.indexOf(`### ${heading}\n`)).split(/\n##+ /)[0] ?? '';
  test('documents its scope', () => {
    expect(section).toContain(scope === null ? 'No key.' : `cope \`${scope}\``);
  });
  test('has an example to paste', () => {
    expect(section).toContain('curl -s');
  });
});
