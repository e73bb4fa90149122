import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { byId, ofType, stacksWith, storedSetting, synthesize, withTraces } from './synthesized.ts';

test('a setting that does not exist is refused by name', () => {
  expect(() => parseSettings({ 'stepwell:retentionDay': 3 })).toThrow(/retentionDay/);
});

test('context keys of the CDK and of other tools are ignored', () => {
  expect(parseSettings({ '@aws-cdk/core:newStyleStackSynthesis': true, 'aws:cdk:bundling-stacks': ['**'], theirs: 1 })).toEqual({
    name: 'Stepwell',
    buildsFunctions: true,
    keepsDataOnDelete: true,
  });
});

test('settings from the command line are strings and are converted', () => {
  expect(
    parseSettings({ 'stepwell:retentionDays': '60', 'stepwell:keepsDataOnDelete': 'false', 'stepwell:logRetention': '14' }),
  ).toMatchObject({
    retentionDays: 60,
    keepsDataOnDelete: false,
    logRetention: 14,
  });
  expect(() => parseSettings({ 'stepwell:retentionDays': 'a while' })).toThrow(/retentionDays/);
  expect(() => parseSettings({ 'stepwell:logRetention': '15' })).toThrow(/logRetention/);
});

test('each setting out of range fails the synthesis with one message', () => {
  const { app } = stacksWith({
    retentionDays: 0,
    idempotencyHours: 500,
    workerTimeoutSeconds: 901,
    requestsPerSecond: 0,
    maxProjectShare: 101,
    memoryMb: { api: 64 },
  });
  const attempt = () => app.synth();
  for (const message of [
    'retentionDays must be a whole number from 1 to 3650, but is 0',
    'idempotencyHours must be a whole number from 1 to 168, but is 500',
    'workerTimeoutSeconds must be a whole number from 30 to 900, but is 901',
    'maxProjectShare must be a whole number from 1 to 100, but is 101',
    'requestsPerSecond must be a whole number from 1 to 10000, but is 0',
    'memoryMb of api must be a whole number from 128 to 10240, but is 64',
  ]) {
    expect(attempt).toThrow(message);
  }
});

test('the functions receive the retention that the bucket applies', () => {
  const { runtime } = synthesize({ retentionDays: 90, idempotencyHours: 48 });
  for (const { id, Properties } of ofType(runtime, 'Lambda::Function')) {
    expect(Properties, id).toMatchObject({
      Environment: { Variables: { STEPWELL_RETENTION_DAYS: '90', STEPWELL_IDEMPOTENCY_HOURS: '48' } },
    });
  }
});

test.each([
  [{}, 'false'],
  [{ metrics: true }, 'true'],
])('%j tells every function whether to count: %s', (settings, told) => {
  for (const { id, Properties } of ofType(synthesize(settings).runtime, 'Lambda::Function')) {
    expect(Properties, id).toMatchObject({ Environment: { Variables: { STEPWELL_METRICS: told } } });
  }
});

test.each([
  [{}, 'failed'],
  [{ runEvents: 'none' }, 'none'],
  [{ runEvents: 'all' }, 'all'],
  // Traces are read when a run has ended, however it ended.
  [withTraces, 'ended'],
  [{ ...withTraces, runEvents: 'all' }, 'all'],
])(
  'with %j each function that publishes has the setting that chooses the status changes on the bus, and the console shows it: %s',
  (settings, told) => {
    const { runtime } = synthesize(settings);
    const functions = ofType(runtime, 'Lambda::Function');
    const tellers = functions.filter(({ Properties }) => JSON.stringify(Properties).includes('STEPWELL_EVENT_BUS_NAME'));
    expect(tellers.length).toBeGreaterThan(5);
    for (const { id, Properties } of tellers) {
      expect(Properties, id).toMatchObject({ Environment: { Variables: { STEPWELL_RUN_EVENTS: told } } });
    }
    const version: unknown = Object(byId(runtime, 'StepwellFunctionsLibraryFunction').Properties['Environment']).Variables
      .STEPWELL_DEPLOYED;
    expect(storedSetting(runtime, 'deployed', version)).toMatchObject({ choices: { runEvents: told } });
  },
);

test.each(['none', 'failed'])('traces and an explicit runEvents: %s stop the synthesis, which says what to do', (runEvents) => {
  expect(() => stacksWith({ ...withTraces, runEvents })).toThrow(
    `run_events_too_few: the setting traces receives runs that ended completed or failed or cancelled, but the setting runEvents is ${runEvents}. Remove the setting, or set it to ended or all.`,
  );
});

test('another value of runEvents is refused by its name', () => {
  expect(() => parseSettings({ 'stepwell:runEvents': true })).toThrow(/runEvents/);
});

test.each([
  [{}, 'true'],
  [{ requireHttps: false }, 'false'],
])('%j tells every function whether HTTPS is required: %s', (settings, told) => {
  for (const { id, Properties } of ofType(synthesize(settings).runtime, 'Lambda::Function')) {
    expect(Properties, id).toMatchObject({ Environment: { Variables: { STEPWELL_REQUIRE_HTTPS: told } } });
  }
});

test('two names create two installations side by side', () => {
  const { manifest } = synthesize({ name: 'Second' });
  expect(manifest).toMatchObject({
    artifacts: { 'Second-Data': {}, 'Second-Runtime': { dependencies: expect.arrayContaining(['Second-Data']) } },
  });
});

test('without account and region the stacks are environment-agnostic', () => {
  const any = { environment: 'aws://unknown-account/unknown-region' };
  expect(synthesize().manifest).toMatchObject({ artifacts: { 'Stepwell-Data': any, 'Stepwell-Runtime': any } });
});

test('memory and timeout of single functions follow their settings', () => {
  const { runtime } = synthesize({ memoryMb: { worker: 2_048 }, workerTimeoutSeconds: 120 });
  expect(byId(runtime, 'StepwellFunctionsWorkerFunction').Properties).toMatchObject({ MemorySize: 2_048, Timeout: 120 });
});

describe('the preset for small accounts', () => {
  const concurrency = z.looseObject({ ScalingConfig: z.object({ MaximumConcurrency: z.number() }) });
  const bounds = (settings: Readonly<Record<string, unknown>>): readonly number[] =>
    ofType(synthesize(settings).runtime, 'Lambda::EventSourceMapping').map(
      ({ Properties }) => concurrency.parse(Properties).ScalingConfig.MaximumConcurrency,
    );
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);

  test('uses Lambda’s minimum concurrency for every queue, and two streams', () => {
    expect(sum(bounds({}))).toBe(364);
    expect(bounds({ preset: 'small' })).toEqual(Array.from({ length: 7 }, () => 2));
    expect(byId(synthesize({ preset: 'small' }).runtime, 'StepwellFunctionsEventsFunction').Properties).toMatchObject({
      Environment: { Variables: { STEPWELL_WATCHERS: '2' } },
    });
  });

  test('does not override explicit settings', () => {
    expect(sum(bounds({ preset: 'small', resultConcurrency: 3 }))).toBe(15);
  });
});
