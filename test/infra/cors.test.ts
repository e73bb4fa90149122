/** The setting `corsOrigins`: accepted values, the functions that receive it, and the gateway's own responses. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { ofType, synthesize } from './synthesized.ts';

const one = ['https://app.example.com'];
const two = [...one, 'http://localhost:5173'];

describe('the setting', () => {
  test('accepts complete origins, as JSON on the command line', () => {
    expect(parseSettings({ 'stepwell:corsOrigins': JSON.stringify(two) })).toMatchObject({ corsOrigins: two });
  });

  test.each([
    ['*', /"\*" has a wildcard: name each origin in full/],
    ['https://*.example.com', /has a wildcard/],
    ['https://app.example.com/', /must be an origin as browsers send it/],
    ['https://app.example.com/path', /must be an origin/],
    ['https://app.example.com:443', /must be an origin/],
    ['https://APP.example.com', /must be an origin/],
    ['https://user@app.example.com', /must be an origin/],
    ['app.example.com', /must be an origin/],
    ['null', /must be an origin/],
    ['http://app.example.com', /must begin with https:/],
    ['ftp://app.example.com', /must begin with https:/],
    ["https://a.example','x", /must be an origin/],
  ])('refuses %s with what is wrong', (origin, message) => {
    expect(() => parseSettings({ 'stepwell:corsOrigins': [origin] })).toThrow(message);
  });

  test('refuses duplicates, more than ten origins, and too many bytes', () => {
    const many = (count: number, host = 'a') => Array.from({ length: count }, (_, at) => `https://${host}${at}.example.com`);
    expect(() => parseSettings({ 'stepwell:corsOrigins': [...one, ...one] })).toThrow(/an origin twice/);
    expect(() => parseSettings({ 'stepwell:corsOrigins': many(11) })).toThrow(/at most 10 origins/);
    expect(() => parseSettings({ 'stepwell:corsOrigins': many(10, 'a'.repeat(50)) })).toThrow(/at most 500 characters/);
  });
});

const environment = z.looseObject({ Environment: z.looseObject({ Variables: z.record(z.string(), z.unknown()) }) });
const toldIn = (settings: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    ofType(synthesize(settings).runtime, 'Lambda::Function').flatMap(({ id, Properties }) => {
      const told = environment.parse(Properties).Environment.Variables['STEPWELL_CORS_ORIGINS'];
      return told === undefined ? [] : [[id.replace(/^StepwellFunctions|Function[0-9A-F]{8}$/g, ''), told]];
    }),
  );

test('only the functions that browsers call receive it', () => {
  const functions = ['Api', 'Deployments', 'Events', 'Library', 'Sockets', 'TestRuns', 'World'];
  expect(toldIn({ corsOrigins: two })).toEqual(Object.fromEntries(functions.map((name) => [name, two.join()])));
  expect(toldIn({})).toEqual(Object.fromEntries(functions.map((name) => [name, ''])));
});

const parameters = z.looseObject({ ResponseType: z.string(), ResponseParameters: z.record(z.string(), z.string()) });
const gatewayHeaders = (settings: Readonly<Record<string, unknown>>, name: string) =>
  new Set(
    ofType(synthesize(settings).runtime, 'ApiGateway::GatewayResponse').map(
      ({ Properties }) => parameters.parse(Properties).ResponseParameters[`gatewayresponse.header.${name}`],
    ),
  );

test.each([
  ['nothing without the setting', {}, undefined, undefined],
  ['the one origin that there is', { corsOrigins: one }, "'https://app.example.com'", "'Origin'"],
  // Gateway templates cannot compare origins; these responses are the same for all callers.
  ['any of several', { corsOrigins: two }, "'*'", "'Origin'"],
])("every answer of the gateway's own names %s", (_what, settings, origin, vary) => {
  expect(gatewayHeaders(settings, 'Access-Control-Allow-Origin')).toEqual(new Set([origin]));
  expect(gatewayHeaders(settings, 'Vary')).toEqual(new Set([vary]));
  expect(gatewayHeaders(settings, 'Access-Control-Allow-Credentials')).toEqual(new Set([undefined]));
});

const responses = z.looseObject({
  ResponseParameters: z.record(z.string(), z.string()),
  ResponseTemplates: z.strictObject({ 'application/json': z.string() }),
});
const bodyOfError = z.strictObject({ code: z.string(), message: z.string(), correlationId: z.literal('$context.requestId') });

test.each([one, two])("no answer of the gateway's own repeats a part of the request", (...origins) => {
  const all = ofType(synthesize({ corsOrigins: origins }).runtime, 'ApiGateway::GatewayResponse').map(({ Properties }) =>
    responses.parse(Properties),
  );
  expect(all.length).toBeGreaterThan(5);
  for (const { ResponseParameters, ResponseTemplates } of all) {
    // Each value is a literal in quotes, or the id of the request.
    for (const value of Object.values(ResponseParameters)) expect(value).toMatch(/^('[^']*'|context\.requestId)$/);
    const { code, message } = bodyOfError.parse(JSON.parse(ResponseTemplates['application/json']));
    expect(`${code} ${message}`).not.toContain('$');
  }
});

test('it adds no resource: the functions handle preflight requests', () => {
  const count = (settings: Readonly<Record<string, unknown>>): number => synthesize(settings).runtime.length;
  expect(count({ corsOrigins: two })).toBe(count({}));
  // CloudFormation's limit for one stack, minus room for the owner's resources.
  expect(count({})).toBeLessThan(400);
});
