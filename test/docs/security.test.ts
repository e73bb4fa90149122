/** docs/SECURITY.md speaks of every function and every scope, and says of roles what the shapes of the functions say. */
import { expect, test } from 'vitest';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import type { PermissionName } from '../../lib/constructs/permissions.ts';
import { functionNames } from '../../lib/contract/environment.ts';
import { keyScopes } from '../../lib/ports/control.ts';
import { numberIn, quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/SECURITY.md');

test('every function has its row among the roles', () => {
  const named = rowsIn(text)
    .filter(({ section }) => section === 'Roles')
    .flatMap(({ cells: [name = ''] }) => quotedIn(name));
  expect(named.toSorted()).toEqual([...functionNames].toSorted());
});

test('three functions may delete control records, and whoever moves a run its hold and its meetings; two what a run wrote', () => {
  const may = (permission: PermissionName) => functionNames.filter((name) => functionShapes[name].may.includes(permission));
  expect([may('release reservations'), may('let go of deployments')]).toEqual([['api', 'library'], ['deployments']]);
  const ending = may('end holds on deployments');
  const granting = ['permissions', 'deletion-permissions'].map((file) => read(`lib/constructs/${file}.ts`)).join('');
  expect(granting.match(/dynamodb:DeleteItem/g)).toHaveLength(13);
  expect(may('keep stream slots')).toEqual(['events']);
  expect([may('delete runs'), may('keep places')]).toEqual([['test-runs', 'sweep'], ['worker']]);
  expect([may('release keys of tests'), may('continue deletions')]).toEqual([['test-runs'], ['sweep']]);
  expect([may('write what webhooks leave'), may('start scheduled runs'), may('settle schedules')]).toEqual([
    ['webhooks'],
    ['worker'],
    ['sweep'],
  ]);
  for (const named of [ending, may('meet signals')]) {
    expect(text).toContain(
      `(${functionNames
        .filter((name) => named.includes(name))
        .map((name) => `\`${name}\``)
        .join(', ')})`,
    );
  }
});

test('every scope', () => {
  for (const scope of keyScopes) expect(text).toContain(`\`${scope}\``);
});

test('how long a revoked key works, and the audit trail is kept', () => {
  expect(text).toContain(`at most ${numberIn('lib/service/authenticate.ts', 'const keptForMs = ') / 1_000} more seconds`);
  expect(text).toContain(`for ${numberIn('lib/service/record-audit.ts', 'const keptFor = ') / 86_400_000} days`);
});
