/** The setting `devKitSecretArn`: off by default; on, the function of the World may read the one secret, and no function with authors' code may. */
import { describe, expect, test } from 'vitest';
import { environmentNames } from '../../lib/contract/environment.ts';
import { grantsIn } from './statements.ts';
import { byId, synthesize } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:runs-AbCdEf';
type Runtime = ReturnType<typeof synthesize>['runtime'];
const variables = (runtime: Runtime, name: string): unknown =>
  Object(byId(runtime, `StepwellFunctions${name}Function`).Properties['Environment']).Variables;
const readers = (runtime: Runtime): readonly string[] =>
  grantsIn(runtime).flatMap(({ role, Action, Resource }) =>
    Action.includes('secretsmanager:GetSecretValue') && JSON.stringify(Resource).includes(secretArn) ? [role] : [],
  );

test('without it no function reads it, and deployed code does not ask for keys', () => {
  const { runtime } = synthesize();
  expect(readers(runtime)).toEqual([]);
  expect(variables(runtime, 'World')).toMatchObject({ [environmentNames.devKitSecretArn]: '' });
  expect(variables(runtime, 'Code')).toMatchObject({ [environmentNames.encryptsRuns]: 'false' });
});

describe('with it', () => {
  const { runtime } = synthesize({ devKitSecretArn: secretArn });

  test('the function of the World alone may read the secret', () => {
    expect(readers(runtime)).toEqual([expect.stringMatching(/^StepwellFunctionsWorldRole/)]);
    expect(variables(runtime, 'World')).toMatchObject({ [environmentNames.devKitSecretArn]: secretArn });
  });

  test('the code function knows that values are encrypted, and not by which secret', () => {
    expect(variables(runtime, 'Code')).toMatchObject({ [environmentNames.encryptsRuns]: 'true' });
    expect(JSON.stringify(variables(runtime, 'Code'))).not.toContain(secretArn);
  });
});

test.each(['runs', 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:runs', 'a'.repeat(40)])(
  '%s is no secret of it',
  (value) => {
    expect(() => synthesize({ devKitSecretArn: value })).toThrow();
  },
);
