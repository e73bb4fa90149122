import { describe, expect, test } from 'vitest';
import { webhookProviders, secretsIn, valueAt } from '../../lib/webhooks/provider.ts';

const good = {
  scheme: 'github',
  secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks/github-AbCdEf',
  projectId: 'default',
  environment: 'production',
  target: { workflowName: 'on-push' },
};
const faultsOf = (settings: unknown): string => {
  const read = webhookProviders.safeParse(settings);
  return read.success ? '' : JSON.stringify(read.error.issues);
};

describe('the setting', () => {
  test('accepts a valid provider', () => {
    expect(faultsOf({ github: good, 'stripe-eu': { ...good, scheme: 'stripe', toleranceSeconds: 60 } })).toBe('');
    expect(faultsOf({ jobs: { ...good, target: { resume: { runIdPath: '/data/runId' } } } })).toBe('');
    expect(faultsOf({ paid: { ...good, target: { signal: { name: 'paid', correlationPath: '/order/id' } } } })).toBe('');
  });

  test('describes the valid targets in its error', () => {
    expect(faultsOf({ github: { ...good, target: { signal: 'approved' } } })).toContain(
      String.raw`{ \"signal\": { \"name\": …, \"correlationPath\": … } }`,
    );
  });

  test.each([
    ['an ARN without its six letters', { secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks' }],
    ['an ARN that stands for many', { secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks-*' }],
    ['a value in place of an ARN', { secretArn: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
    ['a scheme that there is not', { scheme: 'md5' }],
    ['a tolerance where nothing has a time', { toleranceSeconds: 60 }],
    ['no target', { target: {} }],
    ['two targets', { target: { workflowName: 'a', resume: { runIdPath: '/a' } } }],
    ['a path that is no pointer', { target: { resume: { runIdPath: 'data.runId' } } }],
    ['a signal without a name', { target: { signal: { name: '', correlationPath: '/order' } } }],
    ['a signal about nothing', { target: { signal: { name: 'paid' } } }],
    ['a secret by its value', { secret: 'x' }],
  ])('refuses %s', (_what, change) => {
    expect(faultsOf({ github: { ...good, ...change } })).not.toBe('');
  });

  test.each(['GitHub', 'git hub', 'a/b', ''])('refuses %j as a name', (name) => {
    expect(faultsOf({ [name]: good })).not.toBe('');
  });
});

test.each([
  ['one', ['one']],
  [' one \n', ['one']],
  ['["new", "old"]', ['new', 'old']],
  ['[half', ['[half']],
  ['[1]', ['[1]']],
  ['["", "one"]', ['one']],
  ['', []],
])('the text %j contains the secrets %j', (text, secrets) => {
  expect(secretsIn(text)).toEqual(secrets);
});

test.each([
  ['/data/runId', 'r'],
  ['/list/1', 'b'],
  ['/a~1b/m~0n', 7],
  ['/data', { runId: 'r' }],
  ['/data/none', undefined],
  ['/data/runId/length', undefined],
  ['/toString', undefined],
  ['/__proto__', undefined],
])('the value at %s is %j', (pointer, value) => {
  expect(valueAt({ data: { runId: 'r' }, list: ['a', 'b'], 'a/b': { 'm~n': 7 } }, pointer)).toEqual(value);
});
