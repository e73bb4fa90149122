/** The variables of an application: a missing or wrong one is an error that names it and says what to do. */
import { describe, expect, test } from 'vitest';
import { appUrlOf, connectionOf } from '../../lib/world/settings.ts';

const connected = { STEPWELL_URL: 'https://api.example.com/prod/', STEPWELL_API_KEY: 'sk_secret' };
const message = (read: () => unknown): string => {
  try {
    read();
    return 'no error';
  } catch (error) {
    return String(error);
  }
};

test('the address has no slash at its end', () => {
  expect(connectionOf(connected)).toEqual({ baseUrl: 'https://api.example.com/prod', apiKey: 'sk_secret', app: undefined });
});

describe('an error names the variable', () => {
  test.each([
    [{ STEPWELL_URL: undefined }, 'STEPWELL_URL is not set: set it to the address of the Stepwell API'],
    [{ STEPWELL_URL: '' }, 'STEPWELL_URL is not set: set it to the address of the Stepwell API'],
    [{ STEPWELL_URL: 'api.example.com' }, 'STEPWELL_URL is not an http or https address'],
    [{ STEPWELL_URL: 'https://user@api.example.com' }, 'STEPWELL_URL is not an http or https address'],
    [{ STEPWELL_API_KEY: undefined }, 'STEPWELL_API_KEY is not set: set it to a key with the scope world:proxy'],
    [{ STEPWELL_API_KEY: 'sk secret' }, 'STEPWELL_API_KEY is not printable ASCII without spaces'],
  ])('with %j', (change, expected) => {
    const found = message(() => connectionOf({ ...connected, ...change }));
    expect(found).toContain(`The environment variable ${expected}`);
    expect(found).not.toContain('secret');
  });

  test.each(['shop.example.com', 'ftp://shop.example.com', 'https://shop.example.com/?a=1'])(
    'of an address of the app %s',
    (url) => {
      expect(message(() => appUrlOf({ ...connected, STEPWELL_APP_URL: url }))).toContain('STEPWELL_APP_URL is not an http');
    },
  );
});
