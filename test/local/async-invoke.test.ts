/** Asynchronous invocation as in Lambda, and its effects on a sweep that is started every minute. */
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AsyncInvokeConfig,
  defaultAsyncInvokeConfig,
  invokeAsync,
  readAsyncInvokeConfigs,
} from '../../lib/local/lambda/async-invoke.ts';
import { createRunner } from '../../lib/local/scheduler/runner.ts';
import { definitionShape, openScheduleStore } from '../../lib/local/scheduler/schedule-store.ts';
import { newSchedule } from '../../lib/local/scheduler/service.ts';
import { type Assembly, loadAssembly } from '../../lib/local/template/assembly.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { stacksWith } from '../infra/synthesized.ts';
import { endpoint, freshFolder, templateOf } from './stacks.ts';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-03-10T12:00:00Z');

beforeEach(() => void vi.useFakeTimers({ now: start }));
afterEach(() => void vi.useRealTimers());

type Says = 'throttled' | 'fails' | 'works';

/** A function that records its invocation times, and is throttled, fails or succeeds by the time of day. */
function target(asyncInvoke: AsyncInvokeConfig, says: () => Says) {
  const asked: number[] = [];
  const began: number[] = [];
  return {
    asked,
    began,
    fn: {
      name: 'fn',
      asyncInvoke,
      async invoke() {
        asked.push(Date.now() - start);
        if (says() === 'throttled')
          return { kind: 'refused', code: 'TooManyRequestsException', message: 'Rate Exceeded.' } as const;
        began.push(Date.now() - start);
        if (says() === 'fails') return { kind: 'failed', error: { errorType: 'Error', errorMessage: 'as configured' } } as const;
        return { kind: 'returned', payload: 'null' } as const;
      },
    },
  };
}

describe('an asynchronous event', () => {
  test('that fails is retried after one minute and after two more, and then dropped', async () => {
    const { fn, began } = target(defaultAsyncInvokeConfig, () => 'fails');
    const warned: string[] = [];
    invokeAsync(fn, '{}', (line) => void warned.push(line));
    await vi.advanceTimersByTimeAsync(7 * hour);
    expect(began).toEqual([0, minute, 3 * minute]);
    expect(warned).toEqual(['fn: an asynchronous event was dropped: the function failed, and 2 retries are configured']);
  });

  test('that is throttled waits for up to six hours, tried at growing intervals of at most five minutes', async () => {
    const { fn, asked } = target(defaultAsyncInvokeConfig, () => 'throttled');
    const warned: string[] = [];
    invokeAsync(fn, '{}', (line) => void warned.push(line));
    await vi.advanceTimersByTimeAsync(7 * hour);
    expect(asked.slice(0, 5)).toEqual([0, 1_000, 3_000, 7_000, 15_000]);
    expect(asked.at(-1)).toBeGreaterThan(6 * hour - 5 * minute);
    expect(asked.at(-1)).toBeLessThanOrEqual(6 * hour);
    expect(Math.max(...asked.slice(1).map((at, index) => at - (asked[index] ?? 0)))).toBe(5 * minute);
    expect(warned).toEqual(['fn: an asynchronous event was dropped: it is older than 21600 s']);
  });

  test('that is throttled and then accepted runs once', async () => {
    const { fn, began } = target(defaultAsyncInvokeConfig, () => (Date.now() < start + hour ? 'throttled' : 'works'));
    invokeAsync(fn, '{}', () => {});
    await vi.advanceTimersByTimeAsync(7 * hour);
    expect(began).toHaveLength(1);
  });

  test('is retried as often as configured, and then dropped', async () => {
    const config = { retries: 0, maxAgeMs: minute };
    const failing = target(config, () => 'fails');
    invokeAsync(failing.fn, '{}', () => {});
    const throttled = target(config, () => 'throttled');
    invokeAsync(throttled.fn, '{}', () => {});
    await vi.advanceTimersByTimeAsync(7 * hour);
    expect(failing.began).toEqual([0]);
    expect(throttled.asked.at(-1)).toBeLessThanOrEqual(minute);
  });
});

test.each([
  [{ MaximumRetryAttempts: 3 }, /MaximumRetryAttempts/],
  [{ MaximumEventAgeInSeconds: 59 }, /MaximumEventAgeInSeconds/],
  [{ MaximumEventAgeInSeconds: 21_601 }, /MaximumEventAgeInSeconds/],
])('a config that Lambda refuses is refused: %j', (more, words) => {
  const Properties = { FunctionName: 'fn', Qualifier: '$LATEST', ...more };
  expect(() => readAsyncInvokeConfigs(templateOf({ Config: { Type: 'AWS::Lambda::EventInvokeConfig', Properties } }))).toThrow(
    words,
  );
});

describe('the sweep, which EventBridge Scheduler starts every minute', () => {
  let assembly: Assembly;
  beforeAll(() => {
    const { app } = stacksWith();
    assembly = loadAssembly(app.synth().directory);
  });

  /** The template's configuration of the sweep's asynchronous events; `planted` omits that type of resource. */
  function configured(planted?: string): AsyncInvokeConfig {
    const stacks = assembly.stacks.map(({ name, template }) => ({
      name,
      template: {
        ...template,
        Resources: Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type !== planted)),
      },
    }));
    const template = readTemplate({ stacks }, endpoint);
    const sweep = template.of('AWS::Lambda::Function').find(({ logicalId }) => logicalId.includes('SweepFunction'));
    return readAsyncInvokeConfigs(template).get(sweep?.name ?? '') ?? defaultAsyncInvokeConfig;
  }

  /** Starts the sweep every minute for an hour, and returns its start times in milliseconds. */
  async function anHour(config: AsyncInvokeConfig, says: (at: number) => Says): Promise<readonly number[]> {
    const { fn, began } = target(config, () => says(Date.now() - start));
    const store = openScheduleStore(join(freshFolder(), 's.sqlite'));
    const definition = definitionShape.parse({
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { Arn: 'arn:sweep', RoleArn: 'arn:role', RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
    const schedule = newSchedule({ group: 'g', name: 'sweep' }, definition, start);
    if (schedule === undefined) throw new Error('the expression is not valid');
    store.put(schedule);
    const runner = createRunner({ store, warn: () => {}, deliver: async ({ input }) => invokeAsync(fn, input, () => {}) });
    runner.rearm();
    await vi.advanceTimersByTimeAsync(hour - 1);
    await runner.stop();
    store.close();
    return began;
  }

  const outage = (at: number): Says => (at < 40 * minute ? 'throttled' : 'works');
  const most = (began: readonly number[], withinMs: number): number =>
    Math.max(...began.map((from) => began.filter((at) => at >= from && at < from + withinMs).length));

  test('starts at most twice a minute after an outage', async () => {
    const began = await anHour(configured(), outage);
    expect(began.length).toBeGreaterThanOrEqual(20);
    expect(most(began, minute)).toBeLessThanOrEqual(2);
    expect(began.length).toBeLessThanOrEqual(22);
  });

  test('starts once a minute while it fails', async () => {
    expect(await anHour(configured(), () => 'fails')).toHaveLength(60);
  });

  test('accumulates where the template does not configure its asynchronous events', async () => {
    const planted = configured('AWS::Lambda::EventInvokeConfig');
    expect(planted).toEqual(defaultAsyncInvokeConfig);
    // The forty throttled events also run, within the five minutes of their longest interval.
    expect(await anHour(planted, outage)).toHaveLength(60);
    vi.setSystemTime(start);
    expect((await anHour(planted, () => 'fails')).length).toBeGreaterThan(170);
  });
});
