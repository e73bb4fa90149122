/** A namespace belongs to at most one scope, and each scope has one namespace. */
import { expect, test } from 'vitest';
import { defaultNamespace, namespaceOf, scopeOfNamespace } from '../../../lib/engine/external/namespace.ts';
import { environment, projectId } from '../../../lib/engine/ids.ts';

test.each([
  ['default', 'production'],
  ['A_b-9', 'x'],
  ['p'.repeat(64), 'e'.repeat(32)],
])('%s/%s belongs to that project and environment, and back', (project, name) => {
  const scope = { projectId: projectId(project), environment: environment(name) };
  expect(namespaceOf(scope)).toBe(`${project}/${name}`);
  expect(scopeOfNamespace(namespaceOf(scope))).toEqual(scope);
});

test.each([
  '',
  '/',
  'default',
  'default/',
  '/production',
  'a/b/c',
  'a//b',
  'a/B',
  'a/b ',
  ' a/b',
  'a/b\n',
  'ä/b',
  'a#x/b',
  'a%2Fb',
  `${'p'.repeat(65)}/e`,
  `p/${'e'.repeat(33)}`,
])('the namespace %j belongs to no scope', (namespaceId) => expect(scopeOfNamespace(namespaceId)).toBeUndefined());

test('the default namespace belongs to the scope of the first key', () => {
  expect(scopeOfNamespace(defaultNamespace)).toEqual({ projectId: 'default', environment: 'production' });
});
