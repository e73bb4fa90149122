/** The configuration: every error has its pointer, and problems of this machine are warnings. */
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../lib/ownership/config.ts';
import { checkConfig } from '../../lib/ownership/check-config.ts';

const errorsOf = (value: unknown) => {
  const read = readConfig(value);
  return read.kind === 'valid' ? [] : read.errors.map(({ pointer, message }) => `${pointer} ${message}`);
};

const remote = { execution: { mode: 'remote', remoteWorkerUrl: 'https://api.example.com/prod' } };

test('absent settings have their defaults', () => {
  const execution = { mode: 'local', apiKeyEnv: 'WORKFLOW_COMPUTE_API_KEY', timeoutMs: 10_000, retries: 2, failPolicy: 'error' };
  expect(readConfig({})).toEqual({ kind: 'valid', config: { execution } });
  expect(readConfig({ ...remote, remoteWorldTarget: 'acme/world', url: 'http://127.0.0.1:4700' })).toMatchObject({
    kind: 'valid',
  });
});

test.each([
  [undefined, ['/ Invalid input: expected object, received undefined']],
  [[], ['/ Invalid input: expected object, received array']],
  [{ executoin: {} }, ['/executoin is not a known setting']],
  [{ execution: { apiKey: 'sw_prod_x' } }, ['/execution/apiKey is not a known setting']],
  [
    { execution: { apiKeyEnv: 'sw_prod_abc-def' } },
    ['/execution/apiKeyEnv must be the name of an environment variable, not a key'],
  ],
  [{ execution: { mode: 'Remote' } }, ['/execution/mode must be "local" or "remote"']],
  [{ execution: { mode: 'remote' } }, ['/execution/remoteWorkerUrl is required in remote mode, where there is no url']],
  [{ url: 'ftp://example.com' }, ['/url must be an http or https URL']],
  [{ url: 'example.com' }, ['/url must be an http or https URL']],
  [{ url: 'https://user:secret@example.com' }, ['/url must be without user, query and fragment']],
  [{ url: 'https://example.com/?key=secret' }, ['/url must be without user, query and fragment']],
  [{ remoteWorldTarget: '' }, [expect.stringMatching(/^\/remoteWorldTarget /)]],
  [{ execution: { timeoutMs: 0 } }, [expect.stringMatching(/^\/execution\/timeoutMs /)]],
  [{ execution: { timeoutMs: '10' } }, [expect.stringMatching(/^\/execution\/timeoutMs /)]],
  [{ execution: { timeoutMs: 600_001 } }, [expect.stringMatching(/^\/execution\/timeoutMs /)]],
  [{ execution: { retries: -1 } }, [expect.stringMatching(/^\/execution\/retries /)]],
  [{ execution: { retries: 11 } }, [expect.stringMatching(/^\/execution\/retries /)]],
  [
    { execution: { failPolicy: 'fallback-local' } },
    [expect.stringMatching(/^\/execution\/failPolicy .*could execute a run twice/)],
  ],
])('%j', (value, errors) => {
  expect(errorsOf(value)).toEqual(errors);
});

test('all errors are reported at once', () => {
  expect(errorsOf({ url: 'x', more: 1, execution: { retries: 0.5, mode: 1 } })).toHaveLength(4);
});

describe('a valid configuration', () => {
  const linesOf = (value: unknown, env: Record<string, string> = {}, isHostKnown?: boolean) =>
    checkConfig('file', readConfig(value), { env, isHostKnown }).map(({ name, result }) => `${result} ${name}`);
  const key = { WORKFLOW_COMPUTE_API_KEY: 'sw_prod_x' };

  test('passes', () => {
    expect(linesOf(remote, key, true)).toEqual(['pass schema', 'pass mode', 'pass https', 'pass host', 'pass key']);
    expect(linesOf({})).toEqual(['pass schema', 'pass mode']);
  });
  test.each([
    ['no key', remote, {}, true, 'warn key'],
    ['an empty key', remote, { WORKFLOW_COMPUTE_API_KEY: ' ' }, true, 'warn key'],
    ['an unknown host', remote, key, false, 'warn host'],
    ['plain http', { execution: { mode: 'remote', remoteWorkerUrl: 'http://api.example.com' } }, key, true, 'warn https'],
    ['two services', { ...remote, url: 'https://other.example.com' }, key, true, 'warn addresses'],
    ['another mode in the environment', remote, { ...key, WORKFLOW_EXECUTION_MODE: 'local' }, true, 'warn mode'],
    ['an address that is not used', { execution: { remoteWorkerUrl: 'https://api.example.com' } }, key, true, 'warn mode'],
  ] as const)('with %s has exactly this warning', (_what, value, env, isHostKnown, warning) => {
    expect(linesOf(value, env, isHostKnown).filter((line) => !line.startsWith('pass'))).toEqual([warning]);
  });
  test('for a service on this machine needs no https', () => {
    const here = { execution: { mode: 'remote', remoteWorkerUrl: 'http://127.0.0.1:4700' } };
    expect(linesOf(here, key)).toEqual(['pass schema', 'pass mode', 'pass https', 'pass key']);
  });
});
